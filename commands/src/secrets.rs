//! Secrets that callbacks are signed with. They are kept beside the log, which only has their names (C-28).

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sqlx::PgPool;

use crate::log::{LogError, secrets};
use crate::write::fresh_id;

/// The name of an organisation's own secret.
pub const DEFAULT: &str = "default";
/// How long an old secret still signs beside the new one, unless told otherwise.
pub const OVERLAP: Duration = Duration::from_secs(24 * 3_600);
/// How long a secret may be, as text.
pub const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=256;

/// A secret; it shows itself only when asked.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text, for the one who may have it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Why a secret was not kept or changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    #[error(
        "a callback secret is `whsec_` and base64 of at least 16 bytes, or any text of {} to {} bytes \
         without control characters",
        SECRET_BYTES.start(), SECRET_BYTES.end()
    )]
    Form,
    #[error("there is no callback secret `{0}`")]
    NoSecret(String),
    #[error(transparent)]
    Log(#[from] LogError),
}

/// The secrets of all organisations. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Secrets {
    pool: PgPool,
}

impl Secrets {
    /// On the database of the log.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    /// The organisation's own secret; made now if it has none.
    pub async fn ensure_default(&self, org: &str) -> Result<Secret, SecretError> {
        Ok(Secret(secrets::ensure(&self.pool, org).await?))
    }

    /// Keeps a secret that a caller brought, and gives the name that events may carry. The same secret
    /// again has the same name.
    pub async fn keep_given(&self, org: &str, secret: &str) -> Result<String, SecretError> {
        if !is_secret(secret) {
            return Err(SecretError::Form);
        }
        let name = format!("given-{}", fresh_id().simple());
        Ok(secrets::keep(&self.pool, org, &name, secret).await?)
    }

    /// Makes a new secret; the one before still signs for `overlap`, beside it.
    pub async fn rotate(
        &self,
        org: &str,
        name: &str,
        overlap: Duration,
    ) -> Result<Secret, SecretError> {
        if name == DEFAULT {
            secrets::ensure(&self.pool, org).await?;
        }
        let rotated = secrets::rotate(&self.pool, org, name, overlap).await?;
        let missing = || SecretError::NoSecret(name.chars().take(80).collect());
        rotated.map(Secret).ok_or_else(missing)
    }

    /// The live secrets of these names, newest first.
    pub async fn live(
        &self,
        org: &str,
        names: &[String],
    ) -> Result<Vec<(String, Secret)>, SecretError> {
        let rows = secrets::live(&self.pool, org, names).await?;
        let each = rows.into_iter().map(|(name, value)| (name, Secret(value)));
        Ok(each.collect())
    }
}

/// Whether a text may sign callbacks.
#[must_use]
pub fn is_secret(text: &str) -> bool {
    if !SECRET_BYTES.contains(&text.len()) || text.chars().any(char::is_control) {
        return false;
    }
    match text.strip_prefix("whsec_") {
        Some(key) => STANDARD.decode(key).is_ok_and(|key| key.len() >= 16),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_a_form_and_never_shows_itself() {
        let whsec = format!("whsec_{}", STANDARD.encode([7; 24]));
        for good in [whsec.as_str(), "sixteen bytes ok", &"x".repeat(256)] {
            assert!(is_secret(good), "{good}");
        }
        let short = format!("whsec_{}", STANDARD.encode([7; 15]));
        for bad in [
            "",
            "too short",
            &"x".repeat(257),
            "whsec_not base64 at all",
            &short,
            "a\nb                 ",
        ] {
            assert!(!is_secret(bad), "{bad}");
        }
        let shown = format!("{:?}", Secret(whsec.clone()));
        assert!(!shown.contains(&whsec));
    }
}
