//! The text of a key: `strata_<12 hex>_<43 characters>`. Only its hash is kept.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::AccessError;

const BEFORE: &str = "strata_";
/// Random bytes of the secret part.
const SECRET_BYTES: usize = 32;
/// Longest text that is looked at.
const TEXT_BYTES_MAX: usize = 128;

/// A key as its holder has it; shown once, never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// What is kept of a key, of a sign-in or of a session.
pub(super) type Hash = [u8; 32];

impl Token {
    /// A fresh one, with the id that its key gets.
    pub(super) fn mint() -> Result<(Self, String), AccessError> {
        let id = hex(&random::<6>()?);
        let secret = URL_SAFE_NO_PAD.encode(random::<SECRET_BYTES>()?);
        Ok((Self(format!("{BEFORE}{id}_{secret}")), format!("key_{id}")))
    }

    /// The id of the key that a text claims to be.
    pub(super) fn key_id(text: &str) -> Option<String> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (id, secret) = text.strip_prefix(BEFORE)?.split_once('_')?;
        let plain = id.len() == 12 && id.bytes().all(|b| b.is_ascii_hexdigit());
        (plain && secret.len() >= 43).then(|| format!("key_{id}"))
    }

    /// The part that people may see.
    pub(super) fn prefix(&self) -> &str {
        self.0.get(..BEFORE.len() + 12).unwrap_or_default()
    }

    /// The whole text: to hand over, and for nothing else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Token").field(&self.prefix()).finish()
    }
}

/// What is kept instead of a text.
pub(super) fn hash(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

/// A secret for a browser: a sign-in or a session.
pub(super) fn secret() -> Result<String, AccessError> {
    Ok(URL_SAFE_NO_PAD.encode(random::<SECRET_BYTES>()?))
}

fn random<const N: usize>() -> Result<[u8; N], AccessError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| AccessError::Random(error.to_string()))?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_id_and_hides_the_rest() {
        let (token, id) = Token::mint().unwrap();
        assert_eq!(Token::key_id(token.reveal()), Some(id));
        let secret = token.reveal().get(token.prefix().len()..).unwrap();
        assert_eq!(secret.len(), 44);
        assert!(!format!("{token:?}").contains(secret));
        assert_ne!(Token::mint().unwrap().0, token);
    }

    #[test]
    fn texts_that_are_no_keys_are_told_apart() {
        for text in ["", "strata_", "strata_0123456789ab_short", "bearer x"] {
            assert_eq!(Token::key_id(text), None, "{text}");
        }
        assert_eq!(Token::key_id(&format!("strata_{}", "a".repeat(500))), None);
    }
}
