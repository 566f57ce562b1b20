//! What becomes of a message that nobody can read.

use serde::{Deserialize, Serialize};

/// A message of a queue that breaks the contract, with the reason; kept for people to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Where it was found.
    pub subject: String,
    pub reason: String,
    /// Size of the whole message, however little of it is kept.
    pub size_bytes: u64,
    /// Its content as text; bytes that are no text are replaced.
    pub payload: String,
    /// Whether the content was cut or changed, so that it cannot be sent again as it was.
    #[serde(default)]
    pub altered: bool,
}

impl DeadLetter {
    /// Most of a message that is kept.
    pub const PAYLOAD_BYTES_MAX: usize = 64 * 1024;

    /// The letter for a message, with its content cut to [`Self::PAYLOAD_BYTES_MAX`].
    #[must_use]
    pub fn new(subject: &str, reason: &str, payload: &[u8]) -> Self {
        let kept = payload.get(..Self::PAYLOAD_BYTES_MAX).unwrap_or(payload);
        let text = String::from_utf8_lossy(kept).replace('\0', "\u{fffd}");
        Self {
            subject: subject.to_owned(),
            reason: crate::json::clean_text(reason),
            size_bytes: u64::try_from(payload.len()).unwrap_or(u64::MAX),
            altered: text.as_bytes() != payload,
            payload: text,
        }
    }
}
