//! What can be asked of a callback.

use crate::id::{CallbackId, JobId};

/// A wish that [`decide`](super::decide()) grants or refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The receiver has said that it has it.
    RecordDelivered {
        job_id: JobId,
        /// How often a person had asked for it again when the tries began.
        round: u32,
        attempts: u32,
        status_code: u16,
    },
    /// It is not tried any more.
    RecordGivenUp {
        job_id: JobId,
        round: u32,
        attempts: u32,
        /// A stable name for programs, such as `timeout`.
        code: String,
        message: String,
    },
    /// A person wants it to be sent again.
    RequestRedelivery,
}

impl Command {
    /// The round that a sender reports on.
    #[must_use]
    pub fn round(&self) -> Option<u32> {
        match self {
            Self::RecordDelivered { round, .. } | Self::RecordGivenUp { round, .. } => Some(*round),
            Self::RequestRedelivery => None,
        }
    }
}

/// How one callback ended, on its way from the sender to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    pub callback_id: CallbackId,
    pub org_id: String,
    /// [`Command::RecordDelivered`] or [`Command::RecordGivenUp`].
    pub command: Command,
}
