//! One revision of an asset: what was made, by what, and how it was reviewed.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Approval, Basis};
use crate::id::JobId;

/// One state of the content; only its review may change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Revision {
    /// Counts from 1 without gaps.
    pub number: u32,
    pub content_hash: String,
    pub artifacts: Vec<Artifact>,
    pub origin: Origin,
    pub approval: Approval,
    /// Why it was rejected or revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_reason: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// What made a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// A job completed.
    Job { job_id: JobId },
    /// Somebody went back to the content of an earlier revision.
    Rollback {
        to: u32,
        reason: String,
        /// What says that the content was still there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        basis: Option<Basis>,
    },
}

/// One file or table that a job made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Unique within its revision.
    pub name: String,
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Revision {
    /// Whether this job made the revision.
    #[must_use]
    pub fn is_of(&self, job: JobId) -> bool {
        self.origin == Origin::Job { job_id: job }
    }
}
