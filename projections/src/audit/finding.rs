//! What is wrong, and where.

use serde::Serialize;

/// The first thing that is wrong with the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The first position that is not as it was written, as closely as what is left can tell.
    pub pos: u64,
    /// The last position that may be meant; the same if it is that one.
    pub upto: u64,
    pub what: What,
    /// In words.
    pub message: String,
}

/// What kind of thing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// The content of an event is not that of its leaf.
    Leaf,
    /// A position is missing, doubled, or outside of the log.
    Position,
    /// The time of an event or a batch.
    Time,
    /// A batch is not what was chained.
    Batch,
    /// The end of the log is not what it should be.
    Head,
    /// A stream has a gap, or `streams` says something else.
    Stream,
    /// Signed checkpoints are bad, or gone.
    Checkpoint,
    /// The log is whole in itself, and not the one that was signed.
    History,
    /// A hash that is kept for proofs is wrong.
    Subtree,
}

impl Finding {
    pub(super) fn at(pos: i64, what: What, message: String) -> Self {
        let pos = u64::try_from(pos).unwrap_or(0);
        Self::over(pos, pos, what, message)
    }

    pub(super) fn over(pos: u64, upto: u64, what: What, message: String) -> Self {
        Self {
            pos,
            upto: upto.max(pos),
            what,
            message,
        }
    }
}
