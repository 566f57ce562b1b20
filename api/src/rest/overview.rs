//! What partners look at besides their own requests: platforms, failures, and whether we are well.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use domain::job::JobStatus;
use projections::read::{self, JobFilter};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Args, bad_query};
use super::view::{ErrorView, failure_view};
use crate::app::App;
use crate::error::Fault;
use crate::viewer::Viewer;

/// Failures of one page, if nothing is said and at most.
const PAGE: i64 = 50;
const PAGE_MAX: i64 = 200;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Platforms {
    pub(crate) platforms: Vec<PlatformView>,
}

/// A platform, and the refs that identify its assets.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PlatformView {
    pub(crate) platform_id: String,
    pub(crate) name: String,
    pub(crate) required_refs: Vec<String>,
    pub(crate) optional_refs: Vec<String>,
    pub(crate) registered_at: DateTime<Utc>,
}

/// Failed jobs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Failures {
    pub(crate) failures: Vec<FailureView>,
    /// The `cursor` of the next page; null at the end.
    pub(crate) next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FailureView {
    pub(crate) job_id: String,
    pub(crate) request_id: String,
    pub(crate) workflow_id: String,
    pub(crate) failed_at: Option<DateTime<Utc>>,
    pub(crate) error: Option<ErrorView>,
}

/// Whether the API can do its work.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`; whatever is not well answers 503.
    #[schema(value_type = String)]
    pub(crate) status: &'static str,
    #[schema(value_type = String)]
    pub(crate) version: &'static str,
    /// The last position of the log.
    pub(crate) position: i64,
    /// How many positions the read models are behind it.
    pub(crate) lag: i64,
}

/// All platforms
#[utoipa::path(
    get, path = "/api/platforms", operation_id = "platforms", tag = "platform",
    responses((status = 200, description = "All of them; there are few.", body = Platforms)),
    extensions(("x-strata-role" = json!("reader"))),
)]
pub(crate) async fn platforms(
    State(app): State<App>,
    _viewer: Viewer,
) -> Result<Json<Platforms>, Fault> {
    let rows = read::platforms(&app.core().pool).await?;
    let platforms = rows.into_iter().map(|row| PlatformView {
        platform_id: row.platform_id,
        name: row.name,
        required_refs: row.required_refs,
        optional_refs: row.optional_refs,
        registered_at: row.registered_at,
    });
    Ok(Json(Platforms {
        platforms: platforms.collect(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailureArgs {
    limit: Option<i64>,
    cursor: Option<String>,
}

/// Recent failures
#[utoipa::path(
    get, path = "/api/platform/failures", operation_id = "failures", tag = "platform",
    params(
        ("limit" = Option<i64>, Query, description = "Rows of the page; 50 by default.", minimum = 1, maximum = 200),
        ("cursor" = Option<String>, Query, description = "`next` of the page before.", max_length = 200),
    ),
    responses((status = 200, description = "Failed jobs of the organisation.", body = Failures)),
    extensions(("x-strata-role" = json!("reader"))),
)]
pub(crate) async fn failures(
    State(app): State<App>,
    viewer: Viewer,
    Args(args): Args<FailureArgs>,
) -> Result<Json<Failures>, Fault> {
    let limit = args.limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(bad_query(format!("`limit` must be from 1 to {PAGE_MAX}")));
    }
    let filter = JobFilter {
        org_id: Some(viewer.org().to_owned()),
        statuses: vec![JobStatus::Failed],
        limit,
        cursor: args.cursor,
        ..JobFilter::default()
    };
    let page = read::jobs(&app.core().pool, &filter).await?;
    let failures = page.items.into_iter().map(|job| FailureView {
        error: job.failure.as_ref().and_then(failure_view),
        job_id: job.job_id,
        request_id: job.request_id,
        workflow_id: job.workflow_id,
        failed_at: job.completed_at,
    });
    Ok(Json(Failures {
        failures: failures.collect(),
        next: page.next,
    }))
}

/// Whether the platform API works
#[utoipa::path(
    get, path = "/api/platform/health", operation_id = "platform_health", tag = "health",
    responses((status = 200, description = "It does.", body = Health)),
    extensions(("x-strata-role" = json!("none"))),
)]
pub(crate) async fn platform_health(State(app): State<App>) -> Result<Json<Health>, Fault> {
    health_of(&app).await
}

/// Whether the API works
#[utoipa::path(
    get, path = "/api/health", operation_id = "health", tag = "health",
    responses((status = 200, description = "It does.", body = Health)),
    extensions(("x-strata-role" = json!("none"))),
)]
pub(crate) async fn health(State(app): State<App>) -> Result<Json<Health>, Fault> {
    health_of(&app).await
}

async fn health_of(app: &App) -> Result<Json<Health>, Fault> {
    let pool = &app.core().pool;
    let position = read::head(pool).await?;
    let shown = read::position(pool, projections::READ_MODELS).await?;
    Ok(Json(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        position,
        lag: position.saturating_sub(shown).max(0),
    }))
}
