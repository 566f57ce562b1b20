//! What happened to a request.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::Submission;
use crate::id::JobId;

/// A fact of the stream `request:<request_id>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// Somebody asked for work.
    RequestSubmitted {
        #[serde(flatten)]
        submission: Box<Submission>,
        at: DateTime<Utc>,
    },
    /// The request got its job.
    JobAssigned { job_id: JobId, at: DateTime<Utc> },
    /// The request was taken back before it had a job.
    RequestWithdrawn { reason: String, at: DateTime<Utc> },
}
