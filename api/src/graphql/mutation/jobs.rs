//! Steering one job.

use async_graphql::{Context, Json, Object, SimpleObject};
use commands::control::Controlled;
use commands::fork::ForkOrder;
use commands::older::Reusing;
use domain::access::Role;
use domain::id::JobId;
use domain::job::Plan;
use serde_json::{Map, Value};

use super::reuse::ReusePlan;
use crate::app::Core;
use crate::error::Fault;
use crate::graphql::context::{Position, core, viewer};
use crate::viewer::Viewer;

/// Longest reason that is taken.
const REASON_BYTES_MAX: usize = 1_000;

/// What became of a wish about a job.
#[derive(Debug, SimpleObject)]
pub(super) struct JobPayload {
    /// Nothing if there was nothing to write.
    pub(super) position: Option<Position>,
    pub(super) job_id: String,
    /// `cancelled`, `withdrawn`, `already_cancelled`, `paused`, `resumed`, `retried`, `forked` or `released`; in a dry
    /// run `would_retry` or `would_fork`.
    pub(super) outcome: String,
    /// Of a retry or a fork: the new job.
    pub(super) new_job_id: Option<String>,
    /// Of a retry or a fork: the request of the new job.
    pub(super) new_request_id: Option<String>,
    /// Of a retry: it had been retried before, as that job. Of a fork: the same key had been used before, for the
    /// same fork.
    pub(super) repeated: bool,
    /// Of one retry or fork: what the new job takes over, and what it runs.
    pub(super) plan: Option<ReusePlan>,
}

/// What may be wished for, of one job or of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, async_graphql::Enum)]
pub(super) enum Wish {
    Cancel,
    Retry,
    Pause,
    Resume,
}

#[derive(Default)]
pub(super) struct Jobs;

#[Object]
impl Jobs {
    /// Ends a job, or takes its request back if no orchestrator has taken it yet.
    async fn cancel_job(
        &self,
        ctx: &Context<'_>,
        id: String,
        reason: Option<String>,
    ) -> async_graphql::Result<JobPayload> {
        one(ctx, &id, Wish::Cancel, reason).await
    }

    /// Makes a new job that takes over what a failed or cancelled one has finished. With `dryRun` nothing is
    /// written, and the answer says what would be taken over.
    #[graphql(complexity = "100 + child_complexity")]
    async fn retry_job(
        &self,
        ctx: &Context<'_>,
        id: String,
        #[graphql(default)] dry_run: bool,
    ) -> async_graphql::Result<JobPayload> {
        if !dry_run {
            return one(ctx, &id, Wish::Retry, None).await;
        }
        let viewer = viewer(ctx)?.require(Role::Writer)?;
        let core = core(ctx)?;
        let job = owned(core, viewer, &id).await?;
        let plan = core.writer.preview_retry(job).await.map_err(Fault::from)?;
        Ok(preview(job, "would_retry", plan))
    }

    /// Makes a new job that starts an ended one again in the middle, perhaps with other inputs. It takes over what is
    /// completed, and runs the nodes that are named, those that read an input which has another value, and
    /// everything behind either. With `dryRun` nothing is written, and the answer says what would be taken over.
    #[graphql(complexity = "100 + child_complexity")]
    async fn fork_job(
        &self,
        ctx: &Context<'_>,
        id: String,
        #[graphql(
            default,
            desc = "Nodes to start again from; without any, it starts where a changed input is read."
        )]
        at: Vec<String>,
        #[graphql(desc = "Inputs with another value; all others stay what they were.")]
        inputs: Option<Json<Map<String, Value>>>,
        #[graphql(
            desc = "The same key always stands for the same fork; each call without one is a new one."
        )]
        idempotency_key: Option<String>,
        #[graphql(default)] dry_run: bool,
    ) -> async_graphql::Result<JobPayload> {
        let viewer = viewer(ctx)?.require(Role::Writer)?;
        let core = core(ctx)?;
        let job = owned(core, viewer, &id).await?;
        let order = ForkOrder {
            job,
            at,
            inputs: inputs.map(|inputs| inputs.0).unwrap_or_default(),
            idempotency_key,
            actor: viewer.actor().to_owned(),
            trace: viewer.trace.clone(),
        };
        if dry_run {
            let plan = core.writer.preview_fork(&order).await;
            return Ok(preview(job, "would_fork", plan.map_err(Fault::from)?));
        }
        let forked = core.writer.fork(order).await.map_err(Fault::from)?;
        Ok(made(job, "forked", forked))
    }

    /// Holds back what is not dispatched yet.
    async fn pause_job(
        &self,
        ctx: &Context<'_>,
        id: String,
        reason: Option<String>,
    ) -> async_graphql::Result<JobPayload> {
        one(ctx, &id, Wish::Pause, reason).await
    }

    /// Lets a paused job go on.
    async fn resume_job(&self, ctx: &Context<'_>, id: String) -> async_graphql::Result<JobPayload> {
        one(ctx, &id, Wish::Resume, None).await
    }

    /// Lets a job that is in quarantine be tried again.
    async fn release_job(
        &self,
        ctx: &Context<'_>,
        id: String,
    ) -> async_graphql::Result<JobPayload> {
        let viewer = viewer(ctx)?.require(Role::Admin)?;
        let core = core(ctx)?;
        let job = owned(core, viewer, &id).await?;
        let released = core.writer.log.release(job).await.map_err(Fault::from)?;
        if !released {
            let message = format!("{job} has ended; there is nothing to release");
            return Err(Fault::conflict("JOB_ENDED", message, "look at the job").into());
        }
        Ok(payload(job, "released", None))
    }
}

async fn one(
    ctx: &Context<'_>,
    id: &str,
    wish: Wish,
    reason: Option<String>,
) -> async_graphql::Result<JobPayload> {
    let viewer = viewer(ctx)?.require(Role::Writer)?;
    let core = core(ctx)?;
    let job = owned(core, viewer, id).await?;
    Ok(grant(core, viewer, job, wish, reason.as_deref()).await?)
}

/// A job of the viewer's organisation.
pub(super) async fn owned(core: &Core, viewer: &Viewer, id: &str) -> Result<JobId, Fault> {
    let none = || Fault::not_found("job", id);
    let job: JobId = id.parse().map_err(|_| none())?;
    match core.writer.org_of_job(job).await? {
        Some(org) if org == viewer.org() => Ok(job),
        _ => Err(none()),
    }
}

/// Does what is wished for; whose the job is must be known before.
pub(super) async fn grant(
    core: &Core,
    viewer: &Viewer,
    job: JobId,
    wish: Wish,
    reason: Option<&str>,
) -> Result<JobPayload, Fault> {
    let reason = reason.unwrap_or("asked for through the API");
    if reason.len() > REASON_BYTES_MAX {
        let message = format!("a reason has at most {REASON_BYTES_MAX} bytes");
        return Err(Fault::invalid("REASON_TOO_LONG", message, "shorten it"));
    }
    let (writer, actor) = (&core.writer, viewer.actor());
    let (done, word) = match wish {
        Wish::Cancel => (writer.cancel(job, reason, actor).await?, "cancelled"),
        Wish::Pause => (writer.pause(job, reason, actor).await?, "paused"),
        Wish::Resume => (writer.resume(job, actor).await?, "resumed"),
        Wish::Retry => {
            let retried = writer.retry(job, actor).await?;
            return Ok(made(job, "retried", retried));
        }
    };
    Ok(match done {
        Controlled::Applied { pos } => payload(job, word, Some(pos)),
        Controlled::Withdrawn { pos } => payload(job, "withdrawn", Some(pos)),
        Controlled::AlreadyCancelled => payload(job, "already_cancelled", None),
    })
}

/// A new job that was made from this one.
fn made(job: JobId, outcome: &str, made: Reusing) -> JobPayload {
    let Reusing { submitted, plan } = made;
    JobPayload {
        new_job_id: Some(submitted.job_id.to_string()),
        new_request_id: Some(submitted.request_id.to_string()),
        repeated: submitted.repeated,
        plan: Some(plan.into()),
        ..payload(job, outcome, Some(submitted.pos))
    }
}

fn preview(job: JobId, outcome: &str, plan: Plan) -> JobPayload {
    JobPayload {
        plan: Some(plan.into()),
        ..payload(job, outcome, None)
    }
}

fn payload(job: JobId, outcome: &str, pos: Option<u64>) -> JobPayload {
    JobPayload {
        position: pos.map(Position::from),
        job_id: job.to_string(),
        outcome: outcome.to_owned(),
        new_job_id: None,
        new_request_id: None,
        repeated: false,
        plan: None,
    }
}
