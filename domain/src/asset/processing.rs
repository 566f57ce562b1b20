//! What the orchestrator says of an asset: how its latest job goes.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::JobId;

/// The status of the latest job of an asset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Processing {
    /// No job began yet.
    #[default]
    Pending,
    /// The job is at work.
    Processing { job_id: JobId },
    /// The job made a revision.
    Completed { job_id: JobId },
    /// The job ended without a revision.
    Failed { job_id: JobId, failure: Failure },
}

impl Processing {
    /// The current job: the one that began last.
    #[must_use]
    pub fn job_id(&self) -> Option<JobId> {
        match self {
            Self::Pending => None,
            Self::Processing { job_id }
            | Self::Completed { job_id }
            | Self::Failed { job_id, .. } => Some(*job_id),
        }
    }

    /// The word on the wire.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing { .. } => "processing",
            Self::Completed { .. } => "completed",
            Self::Failed { .. } => "failed",
        }
    }
}
