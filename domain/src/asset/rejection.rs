//! Why a command on an asset is refused.

use chrono::{DateTime, Utc};

use super::check::CHECKED_BYTES_MAX;
use super::limits::{
    ARTIFACT_BYTES_MAX, ARTIFACTS_MAX, NAME_BYTES_MAX, REFS_BYTES_MAX, URI_BYTES_MAX,
};
use super::{Approval, AssetId, Concern, Finding, Verdict};
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
    /// A rollback without a reason helps nobody later.
    #[error("a rollback needs a reason")]
    NoReason,
    /// Nobody has looked whether the content is still there.
    #[error("nobody has looked whether the artifacts of revision {revision} are still there")]
    NotChecked { revision: u32 },
    /// Somebody looked at something else.
    #[error("{job_id} did not look at the artifacts of revision {revision} as they are listed")]
    OtherCheck { job_id: JobId, revision: u32 },
    /// Much may have happened since.
    #[error("{job_id} looked at the artifacts at {ended_at}, which is too long ago")]
    CheckTooOld {
        job_id: JobId,
        ended_at: DateTime<Utc>,
    },
    /// The list is too large for one look.
    #[error(
        "the artifacts of revision {revision} have {size_bytes} bytes of JSON; \
         one look takes at most {CHECKED_BYTES_MAX}"
    )]
    CheckTooLarge { revision: u32, size_bytes: usize },
    /// The revision lists nothing that could be looked at.
    #[error(
        "revision {revision} lists no artifacts, so that nobody can verify that it is still there"
    )]
    NothingListed { revision: u32 },
    /// What is gone cannot be brought back.
    #[error("{} is missing{}", shown(.artifact), others(*.more))]
    ArtifactMissing { artifact: Box<Finding>, more: u32 },
    /// What has become something else is not what was made then.
    #[error("{} has changed: {}{}", shown(.artifact), difference(.artifact), others(*.more))]
    ArtifactChanged { artifact: Box<Finding>, more: u32 },
    /// Nothing is wrong with it that anybody could see.
    #[error("{} is not verifiable: {}{}", shown(.artifact), why(.artifact), others(*.more))]
    NotVerifiable { artifact: Box<Finding>, more: u32 },
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

fn shown(finding: &Finding) -> String {
    let artifact = &finding.artifact;
    format!("artifact `{}` ({})", artifact.name, artifact.uri)
}

fn others(more: u32) -> String {
    match more {
        0 => String::new(),
        more => format!("; and {more} more like it"),
    }
}

fn difference(finding: &Finding) -> String {
    match (&finding.found, &finding.artifact.sha256) {
        (Some(found), Some(expected)) => format!("its SHA-256 is {found}, not {expected}"),
        _ => why(finding).to_owned(),
    }
}

fn why(finding: &Finding) -> &str {
    let unknown = match finding.verdict {
        Verdict::Intact | Verdict::Missing | Verdict::Unverifiable => "no hash of it was recorded",
        Verdict::Changed => "it is not what was recorded",
    };
    finding.detail.as_deref().unwrap_or(unknown)
}
