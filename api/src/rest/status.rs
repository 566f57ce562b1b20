//! The status of a request, for whoever polls (O-131, U-32).

use axum::Json;
use axum::extract::State;
use domain::id::RequestId;
use projections::read::{self, Job, Request};

use super::extract::PathText;
use super::find;
use super::submit::monitor_url;
use super::view::{
    ApprovalView, Progress, Release, Services, Status, error_of, job_status, urls_of,
};
use crate::app::App;
use crate::error::Fault;
use crate::viewer::Viewer;

/// Revisions that a status lists.
const VERSIONS_MAX: i64 = 100;

/// The status of a request
///
/// Takes the id of the request, or of its job. All blocks are always there.
#[utoipa::path(
    get, path = "/api/platform/status/{id}", operation_id = "status", tag = "platform",
    params(("id" = String, Path, description = "A request id or a job id.", pattern = "^(req|job)_[0-9a-f]{32}$")),
    responses((status = 200, description = "Everything about it.", body = Status)),
    extensions(("x-strata-role" = json!("reader"))),
)]
pub(crate) async fn status(
    State(app): State<App>,
    viewer: Viewer,
    PathText(id): PathText,
) -> Result<Json<Status>, Fault> {
    let request = find::request(&app, &viewer, find::named(&id)?).await?;
    let job = find::job(&app, &request).await?;
    let asset = match &request.asset_id {
        Some(id) => {
            let ids = [id.clone()];
            let rows = read::assets_by_id(&app.core().pool, viewer.org(), &ids).await?;
            rows.into_iter().next()
        }
        None => None,
    };
    let versions = match &asset {
        Some(asset) => versions(&app, &asset.asset_id).await?,
        None => Vec::new(),
    };
    let release = versions.last().cloned();
    let mut warnings = warnings(job.as_ref());
    if asset.as_ref().is_some_and(|asset| asset.deleted) {
        warnings.push("the asset is deleted".to_owned());
    }
    Ok(Json(Status {
        job_status: job_status(&request, job.as_ref()),
        progress: job.as_ref().map(Progress::from).unwrap_or_default(),
        services: services(&app, &request, job.as_ref()),
        approval: ApprovalView {
            state: release
                .as_ref()
                .map_or("pending_review", |r| &r.approval)
                .to_owned(),
            revision: release.as_ref().map(|r| r.revision),
            reason: release.as_ref().and_then(|r| r.approval_reason.clone()),
        },
        error: error_of(&request, job.as_ref()),
        outputs: job.and_then(|job| job.result),
        asset: asset.map(Into::into),
        release,
        versions,
        warnings,
        request_id: request.request_id,
        job_id: request.job_id,
        platform_id: request.platform_id,
        workflow_id: request.workflow_id,
        workflow_version: request.workflow_version,
        submitted_at: request.submitted_at,
        updated_at: request.updated_at,
    }))
}

/// The revisions of an asset, oldest first.
pub(super) async fn versions(app: &App, asset_id: &str) -> Result<Vec<Release>, Fault> {
    let ids = [asset_id.to_owned()];
    let revisions = read::revisions_of_assets(&app.core().pool, &ids, VERSIONS_MAX).await?;
    Ok(revisions.into_iter().map(Into::into).collect())
}

fn services(app: &App, request: &Request, job: Option<&Job>) -> Services {
    let base = app.core().options.public_url.trim_end_matches('/');
    let id = request.request_id.parse::<RequestId>();
    Services {
        status_url: id.map_or_else(|_| String::new(), |id| monitor_url(app, id)),
        result_url: job.map(|job| format!("{base}/api/jobs/{}/result", job.job_id)),
        of_result: urls_of(job.and_then(|job| job.result.as_ref())),
    }
}

fn warnings(job: Option<&Job>) -> Vec<String> {
    let mut warnings = Vec::new();
    if job.is_some_and(|job| job.degraded) {
        warnings
            .push("this may be out of date: the job could not be followed to its end".to_owned());
    }
    if job.is_some_and(|job| job.paused && job.completed_at.is_none()) {
        warnings.push("the job is paused".to_owned());
    }
    warnings
}
