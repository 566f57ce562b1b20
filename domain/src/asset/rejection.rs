//! Why a command on an asset is refused.

use super::limits::{
    ARTIFACT_BYTES_MAX, ARTIFACTS_MAX, NAME_BYTES_MAX, REFS_BYTES_MAX, URI_BYTES_MAX,
};
use super::{Approval, AssetId, Concern};
use crate::context::Role;
use crate::id::JobId;

/// A refusal that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The actor's role does not own what the command writes.
    #[error("the {role} may not write the {concern} of an asset; it belongs to the {owner}")]
    WrongRole {
        concern: Concern,
        owner: Role,
        role: Role,
    },
    /// Nobody created this asset.
    #[error("the asset does not exist")]
    NotFound,
    /// The asset is deleted.
    #[error("asset {asset_id} is deleted; restore it first")]
    Deleted { asset_id: AssetId },
    /// There is nothing to restore.
    #[error("asset {asset_id} is not deleted")]
    NotDeleted { asset_id: AssetId },
    /// The refs of an asset never change.
    #[error("the platform refs of asset {asset_id} cannot change; other refs are another asset")]
    RefsAreImmutable { asset_id: AssetId },
    /// The id does not follow from platform and refs.
    #[error("{given} is not the asset of these refs; that is {expected}")]
    OtherAsset { given: AssetId, expected: AssetId },
    /// The platform id is not of the allowed form.
    #[error("`{platform_id}` is not a platform id")]
    InvalidPlatform { platform_id: String },
    /// A name is empty, too long or holds control characters.
    #[error("{field} must have 1 to {NAME_BYTES_MAX} bytes without control characters")]
    InvalidName { field: &'static str },
    /// The refs are too large.
    #[error("the refs have {size_bytes} bytes of JSON; at most {REFS_BYTES_MAX} are allowed")]
    RefsTooLarge { size_bytes: usize },
    /// The asset has no revision yet, so there is nothing to review, clear or go back to.
    #[error("the asset has no revision yet")]
    NoRevision,
    /// No such revision exists.
    #[error("revision {revision} does not exist; the current one is {current}")]
    UnknownRevision { revision: u32, current: u32 },
    /// Only the current revision is reviewed.
    #[error("revision {revision} is not current any more; look at {current}")]
    NotCurrentRevision { revision: u32, current: u32 },
    /// The review cannot go this way.
    #[error("revision {revision} is {from} and cannot become {to}")]
    IllegalApproval {
        revision: u32,
        from: Approval,
        to: Approval,
    },
    /// Only what was approved may be public.
    #[error("revision {revision} is {approval}; only an approved revision may be public")]
    NotApproved { revision: u32, approval: Approval },
    /// The job is not the one that works on the asset.
    #[error("{job_id} is not the current job of the asset{}", current_job(.current))]
    NotCurrentJob {
        job_id: JobId,
        current: Option<JobId>,
    },
    /// The job ended in the other way before.
    #[error("{job_id} has already {status}")]
    JobEnded { job_id: JobId, status: &'static str },
    /// Going back to where one is makes no sense.
    #[error("revision {revision} is the current one already")]
    AlreadyCurrent { revision: u32 },
    /// The content hash is not a SHA-256.
    #[error("the content hash must be 64 lower-case hex digits")]
    InvalidHash,
    /// There are too many artifacts, or their list is too large.
    #[error(
        "a revision lists at most {ARTIFACTS_MAX} artifacts in {ARTIFACT_BYTES_MAX} bytes, \
         this one {count} in {size_bytes}; list a manifest instead"
    )]
    TooManyArtifacts { count: usize, size_bytes: usize },
    /// An artifact is not well formed.
    #[error(
        "artifact `{name}` needs a name of its own of 1 to {NAME_BYTES_MAX} bytes, \
         a URI of 1 to {URI_BYTES_MAX} bytes, and a SHA-256 of 64 lower-case hex digits if any"
    )]
    InvalidArtifact { name: String },
}

fn current_job(current: &Option<JobId>) -> String {
    match current {
        Some(job) => format!("; that is {job}"),
        None => "; it has none".to_owned(),
    }
}
