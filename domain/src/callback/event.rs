//! What happened to a callback.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::id::JobId;

/// A fact of the stream `callback:<callback_id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The receiver has it.
    CallbackDelivered {
        job_id: JobId,
        round: u32,
        attempts: u32,
        status_code: u16,
        at: DateTime<Utc>,
    },
    /// It was not delivered, and is not tried any more.
    CallbackGivenUp {
        job_id: JobId,
        round: u32,
        attempts: u32,
        code: String,
        message: String,
        at: DateTime<Utc>,
    },
    /// A person wants it again: the round with this number begins.
    CallbackRedeliveryRequested {
        job_id: JobId,
        round: u32,
        at: DateTime<Utc>,
    },
}
