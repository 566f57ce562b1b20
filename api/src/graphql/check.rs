//! What a worker found of the artifacts of a revision.

use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, Utc};
use commands::rollback::{Looked, RollbackError};
use domain::asset::{Check, Finding};
use domain::id::JobId;

use super::context::{Position, ready};
use super::words::Verdict;
use crate::error::Fault;

/// What was found of one artifact.
#[derive(Debug, SimpleObject)]
pub(super) struct ArtifactFinding {
    name: String,
    uri: String,
    verdict: Verdict,
    /// The SHA-256 that was recorded when it was made.
    sha256: Option<String>,
    /// Its SHA-256 now, if it is another.
    found: Option<String>,
    bytes: Option<u64>,
    /// More about it, in words.
    detail: Option<String>,
}

/// A look at the artifacts of a revision.
#[derive(Debug, SimpleObject)]
pub(super) struct ArtifactCheck {
    /// The job that looks.
    job_id: String,
    asset_id: String,
    revision: u32,
    ended_at: DateTime<Utc>,
    intact: u32,
    missing: u32,
    changed: u32,
    unverifiable: u32,
    /// One for each artifact, as the revision lists them.
    findings: Vec<ArtifactFinding>,
}

/// How far a look is.
#[derive(Debug, SimpleObject)]
pub(super) struct CheckProgress {
    /// `at_work`, `ended` or `failed`.
    status: &'static str,
    /// What was found, when it has ended.
    check: Option<ArtifactCheck>,
    /// Why nobody could look.
    failure: Option<String>,
}

impl From<&Finding> for ArtifactFinding {
    fn from(finding: &Finding) -> Self {
        let artifact = &finding.artifact;
        Self {
            name: artifact.name.clone(),
            uri: artifact.uri.clone(),
            verdict: finding.verdict.into(),
            sha256: artifact.sha256.clone(),
            found: finding.found.clone(),
            bytes: artifact.bytes,
            detail: finding.detail.clone(),
        }
    }
}

impl From<&Check> for ArtifactCheck {
    fn from(check: &Check) -> Self {
        use domain::asset::Verdict as V;
        Self {
            job_id: check.job_id.to_string(),
            asset_id: check.asset_id.to_string(),
            revision: check.revision,
            ended_at: check.ended_at,
            intact: check.count(V::Intact),
            missing: check.count(V::Missing),
            changed: check.count(V::Changed),
            unverifiable: check.count(V::Unverifiable),
            findings: check.findings.iter().map(ArtifactFinding::from).collect(),
        }
    }
}

impl From<Looked> for CheckProgress {
    fn from(looked: Looked) -> Self {
        let (status, check, failure) = match looked {
            Looked::AtWork => ("at_work", None, None),
            Looked::Ended(check) => ("ended", Some((&check).into()), None),
            Looked::Failed(failure) => ("failed", None, Some(failure.message)),
        };
        Self {
            status,
            check,
            failure,
        }
    }
}

#[derive(Default)]
pub(super) struct ArtifactChecks;

#[Object]
impl ArtifactChecks {
    /// What a job of `checkArtifacts` has found, from the log; nothing if there is no such job.
    #[graphql(complexity = "100 + child_complexity")]
    async fn artifact_check(
        &self,
        ctx: &Context<'_>,
        job_id: String,
        wait_for: Option<Position>,
    ) -> async_graphql::Result<Option<CheckProgress>> {
        let (core, viewer) = ready(ctx, wait_for).await?;
        let Ok(job) = job_id.parse::<JobId>() else {
            return Ok(None);
        };
        match core.writer.looked(viewer.org(), job).await {
            Ok(looked) => Ok(Some(looked.into())),
            Err(RollbackError::NoCheck(_)) => Ok(None),
            Err(error) => Err(Fault::from(error).into()),
        }
    }
}
