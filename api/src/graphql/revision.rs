//! Revisions of an asset: what was made, who made and reviewed it, and why.
//!
//! Who did it stands in the log alone; the steps of an asset are read once for all of its revisions.

use std::sync::Arc;

use async_graphql::{Context, Json, Object, SimpleObject};
use chrono::{DateTime, Utc};
use projections::read::{self, AssetStep};
use projections::travel;
use serde_json::Value;

use super::asset::job_of;
use super::context::Position;
use super::job::Job;
use super::loaders::{Loaders, StepsOf};
use super::words::Approval;

/// One state of an asset's content.
pub(super) struct Revision(read::Revision, Option<travel::Moment>);

/// One decision of a review.
#[derive(Debug, SimpleObject)]
pub(super) struct ReviewStep {
    decision: Approval,
    /// Why it was rejected or revoked.
    reason: Option<String>,
    /// Opaque id of whoever decided.
    actor: Option<String>,
    at: DateTime<Utc>,
    position: Position,
}

/// Where a revision came from that no job made.
#[derive(Debug, SimpleObject)]
pub(super) struct RollbackOrigin {
    /// The revision whose content it is.
    to: i64,
    reason: String,
    /// The job that had looked at the artifacts; nothing if the revision lists none, or before that was asked for.
    checked_by: Option<String>,
    /// Artifacts that were there, with the recorded hash.
    intact: Option<i64>,
    /// Artifacts that nobody could verify, and that were accepted.
    unverified: Option<i64>,
}

impl Revision {
    pub(super) fn at(row: read::Revision, moment: Option<travel::Moment>) -> Self {
        Self(row, moment)
    }

    /// What happened to it up to the moment that is shown.
    async fn steps(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<AssetStep>> {
        let key = StepsOf(self.0.asset_id.clone());
        let all: Option<Arc<Vec<AssetStep>>> = ctx.data::<Loaders>()?.load_one(key).await?;
        let upto = self.1.map_or(i64::MAX, |moment| moment.pos);
        let mine = |step: &&AssetStep| step.revision == self.0.revision && step.pos <= upto;
        Ok(all
            .iter()
            .flat_map(|all| all.iter())
            .filter(mine)
            .cloned()
            .collect())
    }

    async fn made(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<AssetStep>> {
        let steps = self.steps(ctx).await?;
        Ok(steps.into_iter().find(|step| decision(step).is_none()))
    }
}

#[Object]
impl Revision {
    async fn number(&self) -> i32 {
        self.0.revision
    }

    async fn content_hash(&self) -> &str {
        &self.0.content_hash
    }

    /// Files and tables that belong to it.
    async fn artifacts(&self) -> Json<Value> {
        Json(self.0.artifacts.clone())
    }

    /// What made it: a job, or a rollback.
    async fn origin(&self) -> Json<Value> {
        Json(self.0.origin.clone())
    }

    /// The rollback that it comes from, if it comes from one.
    async fn rollback(&self) -> Option<RollbackOrigin> {
        let origin = &self.0.origin;
        let basis = &origin["basis"];
        Some(RollbackOrigin {
            to: origin["to"].as_i64()?,
            reason: origin["reason"].as_str().unwrap_or_default().to_owned(),
            checked_by: basis["checked_by"].as_str().map(str::to_owned),
            intact: basis["intact"].as_i64(),
            unverified: basis["unverified"].as_i64(),
        })
    }

    async fn approval(&self) -> Approval {
        Approval::of(&self.0.approval)
    }

    async fn approval_reason(&self) -> Option<&str> {
        self.0.approval_reason.as_deref()
    }

    async fn created_at(&self) -> DateTime<Utc> {
        self.0.created_at
    }

    /// Where in the log it was made. Nothing if a thousand things have happened to the asset since.
    #[graphql(complexity = 5)]
    async fn position(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Position>> {
        Ok(self.made(ctx).await?.map(|step| Position(step.pos)))
    }

    /// Opaque id of whoever made it: a key that rolled back, or the orchestrator for whoever asked for the job.
    #[graphql(complexity = 5)]
    async fn actor(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<String>> {
        Ok(self.made(ctx).await?.and_then(|step| step.actor))
    }

    /// What was decided about it, in order.
    #[graphql(complexity = "5 + 3 * child_complexity")]
    async fn reviews(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<ReviewStep>> {
        let steps = self.steps(ctx).await?.into_iter();
        let review = |step: AssetStep| {
            Some(ReviewStep {
                decision: decision(&step)?,
                reason: step.reason,
                actor: step.actor,
                at: step.recorded_at,
                position: Position(step.pos),
            })
        };
        Ok(steps.filter_map(review).collect())
    }

    #[graphql(complexity = "5 + child_complexity")]
    async fn job(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Job>> {
        let Some(id) = self.0.origin.get("job_id").and_then(Value::as_str) else {
            return Ok(None);
        };
        job_of(ctx, id, self.1).await
    }
}

/// The word of a review; nothing for what made the revision.
fn decision(step: &AssetStep) -> Option<Approval> {
    match step.kind.as_str() {
        "asset_approved" => Some(Approval::Approved),
        "asset_rejected" => Some(Approval::Rejected),
        "asset_approval_revoked" => Some(Approval::Revoked),
        _ => None,
    }
}
