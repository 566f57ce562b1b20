//! Requests: what somebody asked for.

use async_graphql::{Context, Json, Object, SimpleObject};
use chrono::{DateTime, Utc};
use commands::log::JobRow;
use commands::orchestrator::CLAIMS_MAX;
use projections::read;
use serde_json::Value;

use super::asset::Asset;
use super::context::Position;
use super::job::Job;
use super::loaders::{AskerOf, AssetKey, JobKey, Loaders};
use super::words::Priority;

/// A job that has not ended, or the request that waits for one.
#[derive(Debug, SimpleObject)]
pub(super) struct OpenJob {
    job_id: String,
    request_id: String,
    /// The orchestrator that has it.
    owner_id: Option<String>,
    /// How often it was taken without progress.
    claims: i64,
    /// Whoever takes it dies, so it is left alone until it is released.
    quarantined: bool,
}

impl From<JobRow> for OpenJob {
    fn from(row: JobRow) -> Self {
        Self {
            job_id: row.job_id.to_string(),
            request_id: row.request_id,
            owner_id: row.owner.map(|owner| owner.to_string()),
            claims: row.claims.into(),
            quarantined: row.claims >= CLAIMS_MAX,
        }
    }
}

/// A work order; its job is made when an orchestrator takes it.
pub(super) struct Request(pub(super) read::Request);

#[Object]
impl Request {
    async fn id(&self) -> &str {
        &self.0.request_id
    }

    async fn platform_id(&self) -> &str {
        &self.0.platform_id
    }

    /// The partner's identifiers, exactly as they came.
    async fn refs(&self) -> Json<Value> {
        Json(self.0.refs.clone())
    }

    async fn workflow_id(&self) -> &str {
        &self.0.workflow_id
    }

    async fn workflow_version(&self) -> Option<i32> {
        self.0.workflow_version
    }

    #[graphql(complexity = 100)]
    async fn inputs(&self) -> Json<Value> {
        Json(self.0.inputs.clone())
    }

    async fn priority(&self) -> Priority {
        Priority::of(&self.0.priority)
    }

    /// `waiting`, `assigned` or `withdrawn`.
    async fn status(&self) -> &str {
        &self.0.status
    }

    async fn job_id(&self) -> Option<&str> {
        self.0.job_id.as_deref()
    }

    async fn asset_id(&self) -> Option<&str> {
        self.0.asset_id.as_deref()
    }

    /// Why it was withdrawn.
    async fn reason(&self) -> Option<&str> {
        self.0.reason.as_deref()
    }

    /// Opaque id of whoever asked: a key.
    #[graphql(complexity = 5)]
    async fn actor(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<String>> {
        let key = AskerOf(self.0.request_id.clone());
        Ok(ctx.data::<Loaders>()?.load_one(key).await?)
    }

    async fn submitted_at(&self) -> DateTime<Utc> {
        self.0.submitted_at
    }

    async fn updated_at(&self) -> DateTime<Utc> {
        self.0.updated_at
    }

    async fn position(&self) -> Position {
        Position(self.0.last_pos)
    }

    #[graphql(complexity = "5 + child_complexity")]
    async fn job(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Job>> {
        let Some(id) = &self.0.job_id else {
            return Ok(None);
        };
        let loaded = ctx.data::<Loaders>()?.load_one(JobKey(id.clone())).await?;
        Ok(loaded.map(Job::now))
    }

    #[graphql(complexity = "5 + child_complexity")]
    async fn asset(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Asset>> {
        let Some(id) = &self.0.asset_id else {
            return Ok(None);
        };
        let loaded = ctx
            .data::<Loaders>()?
            .load_one(AssetKey(id.clone()))
            .await?;
        Ok(loaded.map(Asset::now))
    }
}
