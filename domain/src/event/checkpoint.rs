//! Signed checkpoints of the log, in the form of C2SP tlog-checkpoint and signed-note.
//!
//! A checkpoint says: so many events there were, with this root of the tree and this hash of the batches, recorded
//! no later than then. Signing is deterministic: the same log and the same key give the same bytes. Keys come in
//! as values; drawing and keeping them is the shell's.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::{DateTime, SecondsFormat, Utc};
use ed25519_dalek::{Signer as _, VerifyingKey};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::chain::Hash;

/// The name that our keys carry, and the first part of the origin of our checkpoints.
const NAME: &str = "strata-audit";
const ORIGIN: &str = "strata-log/";
/// Ed25519, as signed notes number it.
const ALGORITHM: u8 = 1;
const SECRET_PREFIX: &str = "PRIVATE+KEY+";
/// The longest checkpoint that is read.
pub const NOTE_BYTES_MAX: usize = 2_048;

/// What is said about the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which history it is about.
    pub incarnation: Uuid,
    /// Events so far: positions 1 to `size`, whole batches.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Hash,
    /// The hash of the last batch.
    pub chain: Hash,
    /// When the last batch was recorded, in microseconds since 1970.
    pub recorded_at_micros: i64,
}

/// A checkpoint with its signature, as it was found. Whether it is good says [`Signed::verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub checkpoint: Checkpoint,
    key_id: [u8; 4],
    signature: [u8; 64],
}

/// What checks signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// What signs. Its `Debug` shows nothing.
pub struct SigningKey(ed25519_dalek::SigningKey);

/// Why something is no good checkpoint, or no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    #[error("line {line} of the checkpoint is not {wanted}")]
    Line { line: usize, wanted: &'static str },
    #[error("the checkpoint is not in the one form that it may have")]
    Form,
    #[error("this is no public key; it looks like {NAME}+1f2e3d4c+AQ...")]
    PublicKey,
    #[error("this is no signing key; it looks like {SECRET_PREFIX}{NAME}+1f2e3d4c+AQ...")]
    SigningKey,
    #[error("the checkpoint was signed with key {found}, not with {wanted}")]
    OtherKey { found: String, wanted: String },
    #[error("the signature of the checkpoint is not that of key {0}")]
    Signature(String),
}

impl Checkpoint {
    /// What is signed.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "{ORIGIN}{}\n{}\n{}\nbatches {}\nrecorded_at {}\n",
            self.incarnation,
            self.size,
            BASE64.encode(self.root),
            BASE64.encode(self.chain),
            time_text(self.recorded_at_micros),
        )
    }

    /// When its last event was recorded.
    #[must_use]
    pub fn recorded_at(&self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_micros(self.recorded_at_micros)
    }

    /// Signs it.
    #[must_use]
    pub fn sign(self, key: &SigningKey) -> Signed {
        let signature = key.0.sign(self.text().as_bytes()).to_bytes();
        let key_id = key.public().key_id();
        Signed {
            checkpoint: self,
            key_id,
            signature,
        }
    }
}

fn time_text(micros: i64) -> String {
    DateTime::from_timestamp_micros(micros)
        .unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Micros, true)
}

impl Signed {
    /// The whole note.
    #[must_use]
    pub fn note(&self) -> String {
        let signed = [&self.key_id[..], &self.signature].concat();
        let text = self.checkpoint.text();
        format!("{text}\n\u{2014} {NAME} {}\n", BASE64.encode(signed))
    }

    /// Reads a note. It has exactly one form, so that no byte of it can be another and mean the same.
    pub fn parse(note: &str) -> Result<Self, CheckpointError> {
        if note.len() > NOTE_BYTES_MAX {
            return Err(CheckpointError::Form);
        }
        let mut lines = note.lines().zip(1..);
        let mut field = |wanted: &'static str, prefix: &'static str| {
            let (text, line) = lines.next().ok_or(CheckpointError::Form)?;
            let wrong = CheckpointError::Line { line, wanted };
            let text = text.strip_prefix(prefix).ok_or_else(|| wrong.clone())?;
            Ok((text, wrong))
        };
        let (text, wrong) = field("an origin of Strata", ORIGIN)?;
        let incarnation = text.parse().map_err(|_| wrong)?;
        let (text, wrong) = field("a size", "")?;
        let size = text.parse().map_err(|_| wrong)?;
        let (text, wrong) = field("a root", "")?;
        let root = decoded(text).ok_or(wrong)?;
        let (text, wrong) = field("the hash of a batch", "batches ")?;
        let chain = decoded(text).ok_or(wrong)?;
        let (text, wrong) = field("a time", "recorded_at ")?;
        let recorded_at: DateTime<Utc> = text.parse().map_err(|_| wrong)?;
        field("empty", "")?;
        let (text, wrong) = field("a signature", "\u{2014} ")?;
        let text = text
            .strip_prefix(NAME)
            .and_then(|rest| rest.strip_prefix(' '));
        let signed: [u8; 68] = text.and_then(decoded).ok_or(wrong)?;
        let (key_id, signature) = signed
            .split_first_chunk::<4>()
            .ok_or(CheckpointError::Form)?;
        let found = Self {
            checkpoint: Checkpoint {
                incarnation,
                size,
                root,
                chain,
                recorded_at_micros: recorded_at.timestamp_micros(),
            },
            key_id: *key_id,
            signature: signature.try_into().map_err(|_| CheckpointError::Form)?,
        };
        match found.note() == note {
            true => Ok(found),
            false => Err(CheckpointError::Form),
        }
    }

    /// Whether this key signed it.
    pub fn verify(&self, key: &PublicKey) -> Result<(), CheckpointError> {
        if self.key_id != key.key_id() {
            return Err(CheckpointError::OtherKey {
                found: hex(&self.key_id),
                wanted: key.fingerprint(),
            });
        }
        let signature = ed25519_dalek::Signature::from_bytes(&self.signature);
        let text = self.checkpoint.text();
        let good = key.0.verify_strict(text.as_bytes(), &signature);
        good.map_err(|_| CheckpointError::Signature(key.fingerprint()))
    }

    /// Which key it says it was signed with.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        hex(&self.key_id)
    }
}

impl PublicKey {
    /// Its text: name, id and key, as signed notes write it.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "{NAME}+{}+{}",
            self.fingerprint(),
            encoded(self.0.as_bytes())
        )
    }

    /// Reads its text.
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let refused = || CheckpointError::PublicKey;
        let (_, key) = text.rsplit_once('+').ok_or_else(refused)?;
        // `+` is a digit of base64 as well: the key begins after the second one.
        let key = text.splitn(3, '+').nth(2).unwrap_or(key);
        let bytes = keyed(key).ok_or_else(refused)?;
        let key = Self(VerifyingKey::from_bytes(&bytes).map_err(|_| refused())?);
        match key.text() == text && !key.0.is_weak() {
            true => Ok(key),
            false => Err(refused()),
        }
    }

    /// What people compare: the id of the key in hex.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        hex(&self.key_id())
    }

    fn key_id(&self) -> [u8; 4] {
        let mut hasher = Sha256::new();
        hasher.update(NAME);
        hasher.update([b'\n', ALGORITHM]);
        hasher.update(self.0.as_bytes());
        let hash: Hash = hasher.finalize().into();
        let [a, b, c, d, ..] = hash;
        [a, b, c, d]
    }
}

impl SigningKey {
    /// The key of a seed that was drawn.
    #[must_use]
    pub fn new(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Its text, which is a secret.
    #[must_use]
    pub fn secret_text(&self) -> String {
        let id = self.public().fingerprint();
        format!("{SECRET_PREFIX}{NAME}+{id}+{}", encoded(self.0.as_bytes()))
    }

    /// Reads its text. The error never repeats it.
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let parts = text.strip_prefix(SECRET_PREFIX);
        let seed = parts.and_then(|parts| keyed(parts.splitn(3, '+').nth(2)?));
        let key = Self::new(&seed.ok_or(CheckpointError::SigningKey)?);
        match key.secret_text() == text {
            true => Ok(key),
            false => Err(CheckpointError::SigningKey),
        }
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.public().fingerprint())
    }
}

fn encoded(key: &[u8; 32]) -> String {
    BASE64.encode([&[ALGORITHM][..], key].concat())
}

/// Key bytes behind the number of their algorithm.
fn keyed(text: &str) -> Option<[u8; 32]> {
    match decoded::<33>(text)? {
        [ALGORITHM, key @ ..] => Some(key),
        _ => None,
    }
}

/// Base64 of exactly so many bytes.
pub(super) fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    BASE64.decode(text).ok()?.try_into().ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SigningKey {
        SigningKey::new(&[7; 32])
    }

    fn checkpoint() -> Checkpoint {
        Checkpoint {
            incarnation: Uuid::from_u128(5),
            size: 12_345,
            root: [1; 32],
            chain: [2; 32],
            recorded_at_micros: 1_760_000_000_123_456,
        }
    }

    #[test]
    fn a_note_comes_back_as_it_was_and_is_always_the_same() {
        let signed = checkpoint().sign(&key());
        assert_eq!(signed, checkpoint().sign(&key()));
        let note = signed.note();
        assert_eq!(
            note.lines().next(),
            Some("strata-log/00000000-0000-0000-0000-000000000005")
        );
        let back = Signed::parse(&note).unwrap();
        assert_eq!(back, signed);
        back.verify(&key().public()).unwrap();
        let other = SigningKey::new(&[8; 32]).public();
        let refused = back.verify(&other);
        assert!(matches!(refused, Err(CheckpointError::OtherKey { .. })));
    }

    #[test]
    fn a_note_with_any_one_byte_changed_does_not_verify() {
        let note = checkpoint().sign(&key()).note().into_bytes();
        for at in 0..note.len() {
            for flip in 1..=255_u8 {
                let mut changed = note.clone();
                changed[at] ^= flip;
                let Ok(text) = String::from_utf8(changed) else {
                    continue;
                };
                let good = Signed::parse(&text).and_then(|s| s.verify(&key().public()));
                assert!(good.is_err(), "byte {at}: {text}");
            }
        }
    }

    #[test]
    fn keys_come_back_as_they_were_and_nothing_else_is_one() {
        let (secret, public) = (key().secret_text(), key().public());
        assert_eq!(SigningKey::parse(&secret).unwrap().public(), public);
        assert_eq!(PublicKey::parse(&public.text()), Ok(public));
        assert!(!format!("{:?}", key()).contains(secret.rsplit('+').next().unwrap()));
        for bad in ["", "a+b", "strata-audit+00000000+AQ==", &secret] {
            assert_eq!(PublicKey::parse(bad), Err(CheckpointError::PublicKey));
        }
        for at in 0..secret.len() {
            let mut changed = secret.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert!(SigningKey::parse(&changed).is_err(), "{at}");
        }
    }
}
