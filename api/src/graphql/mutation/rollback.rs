//! Going back to an earlier revision: have its artifacts looked at, then go back or say why not.

use async_graphql::{Context, Json, Object, SimpleObject};
use commands::review::Reviewed;
use commands::rollback::{RollbackPlan, RollbackWish};
use domain::access::Role;
use domain::id::JobId;
use serde_json::Value;

use super::assets::asset_of;
use crate::error::Fault;
use crate::graphql::check::ArtifactCheck;
use crate::graphql::context::{Position, core, viewer};

/// A job that looks at artifacts.
#[derive(Debug, SimpleObject)]
pub(super) struct CheckPayload {
    position: Position,
    asset_id: String,
    revision: u32,
    request_id: String,
    /// Follow it with `artifactCheck`, and give it to `rollbackAsset`.
    job_id: String,
}

/// Why something would be refused.
#[derive(Debug, SimpleObject)]
pub(super) struct Refusal {
    code: String,
    message: String,
    remediation: String,
}

/// What a rollback has changed, or would.
#[derive(Debug, SimpleObject)]
pub(super) struct RollbackPayload {
    /// Nothing in a dry run, and if it was so before.
    position: Option<Position>,
    asset_id: String,
    /// It was so before.
    repeated: bool,
    dry_run: bool,
    /// Why it would be refused; of a dry run only.
    refusal: Option<Refusal>,
    /// The number of the revision that is current then.
    revision: u32,
    /// The revision whose content that is.
    to: u32,
    /// The revision that was current.
    from: u32,
    content_hash: String,
    artifacts: Json<Value>,
    /// The job that made that content.
    made_by: Option<String>,
    /// What was found of the artifacts.
    check: Option<ArtifactCheck>,
    /// A job at work on the asset; its result will be current after this.
    job_at_work: Option<String>,
    /// Everybody sees the asset now, and only until then: the new revision waits for its review.
    was_public: bool,
}

#[derive(Default)]
pub(super) struct Rollbacks;

#[Object]
impl Rollbacks {
    /// Has a worker look whether the artifacts of a revision are still there and what they were.
    async fn check_artifacts(
        &self,
        ctx: &Context<'_>,
        asset_id: String,
        revision: u32,
    ) -> async_graphql::Result<CheckPayload> {
        let viewer = viewer(ctx)?.require(Role::Writer)?;
        let id = asset_of(&asset_id)?;
        let (org, actor) = (viewer.org(), viewer.actor());
        let submitted = core(ctx)?.writer.check_artifacts(org, id, revision, actor);
        let submitted = submitted.await.map_err(Fault::from)?;
        Ok(CheckPayload {
            position: submitted.pos.into(),
            asset_id: id.to_string(),
            revision,
            request_id: submitted.request_id.to_string(),
            job_id: submitted.job_id.to_string(),
        })
    }

    /// Makes a new revision with the content of an earlier one, if its artifacts are still there.
    ///
    /// `checkedBy` is a job of `checkArtifacts` that has ended within the last hour. What is missing or changed is
    /// never brought back; what nobody can verify only with `acceptUnverified`. The same again changes nothing. Items
    /// of the catalog are left as they are.
    #[expect(
        clippy::too_many_arguments,
        reason = "callers give arguments of the schema by name"
    )]
    async fn rollback_asset(
        &self,
        ctx: &Context<'_>,
        asset_id: String,
        to: u32,
        reason: String,
        checked_by: Option<String>,
        #[graphql(default)] accept_unverified: bool,
        #[graphql(
            default,
            desc = "Only say what would change, and why it would be refused."
        )]
        dry_run: bool,
    ) -> async_graphql::Result<RollbackPayload> {
        let viewer = viewer(ctx)?.require(Role::Admin)?;
        let id = asset_of(&asset_id)?;
        let check = |text: String| {
            let job = text.parse::<JobId>();
            job.map_err(|_| Fault::not_found("check", &text))
        };
        let wish = RollbackWish {
            to,
            reason,
            checked_by: checked_by.map(check).transpose()?,
            accept_unverified,
        };
        let (org, actor) = (viewer.org(), viewer.actor());
        let writer = &core(ctx)?.writer;
        if dry_run {
            let plan = writer.plan_rollback(org, id, &wish, actor).await;
            return Ok(payload(&asset_id, plan.map_err(Fault::from)?, None, true));
        }
        let done = writer.roll_back(org, id, &wish, actor).await;
        let (plan, done) = done.map_err(Fault::from)?;
        let position = match done {
            Reviewed::Applied { pos } => Some(pos.into()),
            Reviewed::AlreadyApplied => None,
        };
        Ok(payload(&asset_id, plan, position, false))
    }
}

fn payload(
    asset_id: &str,
    plan: RollbackPlan,
    position: Option<Position>,
    dry_run: bool,
) -> RollbackPayload {
    let refusal = plan.refusal.filter(|_| dry_run).map(|rejection| {
        let fault = Fault::from(rejection);
        Refusal {
            code: fault.code,
            message: fault.message,
            remediation: fault.remediation,
        }
    });
    RollbackPayload {
        position,
        asset_id: asset_id.to_owned(),
        repeated: plan.repeated,
        dry_run,
        refusal,
        revision: plan.revision,
        to: plan.source.number,
        from: plan.current,
        content_hash: plan.source.content_hash,
        artifacts: Json(serde_json::to_value(&plan.source.artifacts).unwrap_or_default()),
        made_by: plan.made_by.map(|job| job.to_string()),
        check: plan.check.as_ref().map(ArtifactCheck::from),
        job_at_work: plan.at_work.map(|job| job.to_string()),
        was_public: plan.was_public,
    }
}
