//! Steering many jobs by a filter: first how many it would be, then to do it.

use async_graphql::{Context, Json, Object, SimpleObject};
use domain::access::Role;
use domain::job::JobStatus;
use futures_util::{StreamExt as _, stream};
use projections::read;
use serde_json::Value;

use super::jobs::{JobPayload, Wish, grant};
use crate::error::Fault;
use crate::graphql::context::{Position, core, viewer};
use crate::graphql::job::JobFilter;

/// Jobs of one call.
const BULK_MAX: i64 = 1_000;
/// Of these, so many at once.
const AT_ONCE: usize = 32;

/// What became of a wish about many jobs.
#[derive(Debug, SimpleObject)]
pub(super) struct BulkPayload {
    /// The last position that was written.
    position: Option<Position>,
    /// Nothing was done: this is what would have been.
    dry_run: bool,
    /// Jobs that the filter fits and that the wish makes sense for, as far as one call goes.
    matched: usize,
    /// There are more than one call takes; call again.
    more: bool,
    job_ids: Vec<String>,
    done: Vec<JobPayload>,
    failed: Vec<BulkFailure>,
}

/// A job for which it could not be done.
#[derive(Debug, SimpleObject)]
pub(super) struct BulkFailure {
    job_id: String,
    /// `{code, category, message, remediation}`
    error: Option<Json<Value>>,
}

#[derive(Default)]
pub(super) struct Bulk;

#[Object]
impl Bulk {
    /// Cancels, retries, pauses or resumes every job that fits a filter; at most a thousand per call, the newest
    /// first. With `dryRun`, which is the default, nothing is done, and the answer says what would be.
    #[graphql(complexity = "100 + 10 * child_complexity")]
    async fn steer_jobs(
        &self,
        ctx: &Context<'_>,
        wish: Wish,
        filter: JobFilter,
        reason: Option<String>,
        #[graphql(default = true)] dry_run: bool,
    ) -> async_graphql::Result<BulkPayload> {
        let viewer = viewer(ctx)?.require(Role::Writer)?;
        let core = core(ctx)?;
        let mut filter = filter.of(viewer.org())?;
        let sensible: &[JobStatus] = match wish {
            Wish::Cancel | Wish::Pause | Wish::Resume => &[JobStatus::Pending, JobStatus::Running],
            Wish::Retry => &[JobStatus::Failed, JobStatus::Cancelled],
        };
        let asked = std::mem::take(&mut filter.statuses);
        filter.statuses = sensible
            .iter()
            .filter(|status| asked.is_empty() || asked.contains(status))
            .copied()
            .collect();
        filter.limit = BULK_MAX;
        let page = if filter.statuses.is_empty() {
            read::Page {
                items: Vec::new(),
                next: None,
            }
        } else {
            read::jobs(&core.pool, &filter).await.map_err(Fault::from)?
        };
        let wanted = |job: &read::Job| match wish {
            Wish::Pause => !job.paused,
            Wish::Resume => job.paused,
            Wish::Cancel | Wish::Retry => true,
        };
        let more = page.next.is_some();
        let jobs = page.items.into_iter().filter(wanted).map(|job| job.job_id);
        let job_ids: Vec<String> = jobs.collect();
        let mut answer = BulkPayload {
            position: None,
            dry_run,
            matched: job_ids.len(),
            more,
            job_ids: job_ids.clone(),
            done: Vec::new(),
            failed: Vec::new(),
        };
        if dry_run {
            return Ok(answer);
        }
        let reason = reason.as_deref();
        let each = job_ids.into_iter().map(|id| async move {
            let Ok(job) = id.parse() else {
                return (id, Err(Fault::internal(&"a job id of the read models")));
            };
            let granted = grant(core, viewer, job, wish, reason).await;
            (id, granted)
        });
        let mut outcomes = stream::iter(each).buffered(AT_ONCE);
        while let Some((job_id, outcome)) = outcomes.next().await {
            match outcome {
                Ok(mut done) => {
                    answer.position = answer.position.max(done.position);
                    // A thousand plans are no answer.
                    done.plan = None;
                    answer.done.push(done);
                }
                Err(fault) => answer.failed.push(BulkFailure {
                    job_id,
                    error: serde_json::to_value(fault).ok().map(Json),
                }),
            }
        }
        Ok(answer)
    }
}
