//! Decides what the orchestrator reports of the jobs of an asset.

use chrono::{DateTime, Utc};

use super::decide::{Outcome, accept};
use super::limits::check_content;
use super::{Artifact, Asset, Event, Processing, Rejection};
use crate::failure::Failure;
use crate::id::JobId;
use crate::outcome::Decision;

pub(super) fn begin(asset: &Asset, job_id: JobId, at: DateTime<Utc>) -> Outcome {
    // A job that began before stays as it is, also when a later one has taken over since.
    if asset.jobs.contains(&job_id) {
        return Ok(Decision::AlreadyApplied);
    }
    accept(Event::AssetProcessingBegan { job_id, at })
}

pub(super) fn complete(
    asset: &Asset,
    job_id: JobId,
    content_hash: String,
    artifacts: Vec<Artifact>,
    at: DateTime<Utc>,
) -> Outcome {
    if asset.revisions.iter().rev().any(|made| made.is_of(job_id)) {
        return Ok(Decision::AlreadyApplied);
    }
    require_current(asset, job_id)?;
    check_content(&content_hash, &artifacts)?;
    accept(Event::AssetProcessingCompleted {
        job_id,
        revision: asset.next_revision(),
        content_hash,
        artifacts,
        at,
    })
}

pub(super) fn fail(asset: &Asset, job_id: JobId, failure: Failure, at: DateTime<Utc>) -> Outcome {
    match &asset.processing {
        Processing::Failed { job_id: failed, .. } if *failed == job_id => {
            return Ok(Decision::AlreadyApplied);
        }
        Processing::Pending
        | Processing::Processing { .. }
        | Processing::Completed { .. }
        | Processing::Failed { .. } => {}
    }
    require_current(asset, job_id)?;
    let failure = failure.cleaned();
    accept(Event::AssetProcessingFailed {
        job_id,
        failure,
        at,
    })
}

/// Refuses the result of any job but the one at work.
fn require_current(asset: &Asset, job_id: JobId) -> Result<(), Rejection> {
    let processing = &asset.processing;
    let current = processing.job_id();
    if current != Some(job_id) {
        return Err(Rejection::NotCurrentJob { job_id, current });
    }
    match processing {
        Processing::Pending | Processing::Processing { .. } => Ok(()),
        Processing::Completed { .. } | Processing::Failed { .. } => Err(Rejection::JobEnded {
            job_id,
            status: processing.as_str(),
        }),
    }
}
