//! What can be asked of an asset.

use super::{Artifact, AssetId, Check, Clearance, Concern};
use crate::failure::Failure;
use crate::id::JobId;
use crate::platform::Refs;

/// A wish that [`decide`](super::decide()) grants or refuses.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Makes the asset known.
    Create {
        asset_id: AssetId,
        org_id: String,
        platform_id: String,
        platform_refs: Refs,
        title: Option<String>,
    },
    /// Hides the asset; row and events stay (O-25).
    SoftDelete,
    /// Brings a deleted asset back.
    Restore,
    /// Approves a revision: the one that was looked at, or the current one.
    Approve { revision: Option<u32> },
    /// Turns a revision down.
    Reject {
        revision: Option<u32>,
        reason: String,
    },
    /// Takes an approval back.
    Revoke {
        revision: Option<u32>,
        reason: String,
    },
    /// Says who may see the asset.
    SetClearance { clearance: Clearance },
    /// Makes a job the current one; a result of an earlier one no longer counts.
    BeginProcessing { job_id: JobId },
    /// Records the result of the current job as a new revision.
    CompleteProcessing {
        job_id: JobId,
        content_hash: String,
        artifacts: Vec<Artifact>,
    },
    /// Records that the current job failed.
    FailProcessing { job_id: JobId, failure: Failure },
    /// Makes a new revision with the content of an earlier one (O-09).
    Rollback(Box<Rollback>),
    /// Says again what is known, so that older events can be archived.
    Carry,
}

/// Which content to bring back, why, and what says that it is still there.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollback {
    pub to: u32,
    pub reason: String,
    /// A look at the artifacts of that revision.
    pub check: Option<Check>,
    /// Bring back also what nobody can verify. What is missing or changed is never brought back.
    pub accept_unverified: bool,
}

impl Command {
    /// What the command writes; decides who may give it.
    #[must_use]
    pub fn concerns(&self) -> &'static [Concern] {
        match self {
            Self::Create { .. } => &[Concern::Creation],
            Self::SoftDelete | Self::Restore => &[Concern::Deletion],
            Self::Approve { .. } | Self::Reject { .. } | Self::Revoke { .. } => {
                &[Concern::Approval]
            }
            Self::SetClearance { .. } => &[Concern::Clearance],
            Self::BeginProcessing { .. } => &[Concern::ProcessingStatus, Concern::JobLinkage],
            Self::CompleteProcessing { .. } => &[
                Concern::ProcessingStatus,
                Concern::ContentHash,
                Concern::JobLinkage,
            ],
            Self::FailProcessing { .. } => &[Concern::ProcessingStatus],
            Self::Rollback(_) => &[Concern::Rollback],
            // It changes nothing, so whoever keeps the log may do it.
            Self::Carry => &[],
        }
    }
}
