//! Resubmit: the work of an earlier request once more (U-30).

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use commands::submit::Order;
use commands::write::fresh_id;
use domain::access::Role;
use domain::id::{JobId, RequestId};
use domain::request::Submission;

use super::extract::Body;
use super::fields::Fields;
use super::find;
use super::submit::{Plan, SubmitAnswer, SubmitStatus, answer_of, given_key, refused};
use super::view::job_status;
use crate::app::App;
use crate::error::Fault;
use crate::viewer::Viewer;

/// Does the work of a request once more
///
/// A failed or cancelled job is retried: the new job takes over what was completed, and asking twice gives the
/// same new request. With `force` everything is done anew, whatever became of the job.
#[utoipa::path(
    post, path = "/api/platform/resubmit", operation_id = "resubmit", tag = "platform",
    params(
        ("Idempotency-Key" = Option<String>, Header,
            description = "With `force`: the same key always stands for the same new request.",
            min_length = 1, max_length = 256),
    ),
    responses(
        (status = 202, description = "Accepted; no job exists yet.", body = SubmitAnswer),
        (status = 200, description = "Resubmitted before, or a dry run.", body = SubmitAnswer),
    ),
    extensions(("x-strata-role" = json!("writer"))),
)]
pub(crate) async fn resubmit(
    State(app): State<App>,
    viewer: Viewer,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<(StatusCode, Json<SubmitAnswer>), Fault> {
    viewer.require(Role::Writer)?;
    let key = given_key(&headers)?;
    let mut fields = Fields::new(body);
    let id = fields.required_text("request_id", 64);
    let dry_run = fields.flag("dry_run").unwrap_or(false);
    let force = fields.flag("force").unwrap_or(false);
    let id = id.and_then(|id| match find::named(&id) {
        Ok(named) => Some(named),
        Err(fault) => {
            fields.problem("request_id", "INVALID", fault.message);
            None
        }
    });
    let problems = fields.finish();
    let (Some(named), true) = (id, problems.is_empty()) else {
        return Err(refused(problems));
    };
    let request = find::request(&app, &viewer, named).await?;
    let job = find::job(&app, &request).await?;
    let status = job_status(&request, job.as_ref());
    let retried = job.is_some() && !force;
    let is_over = matches!(status.as_str(), "FAILED" | "CANCELLED");
    if !force && !is_over {
        return Err(Fault::conflict(
            "NOT_RETRYABLE",
            format!("the job is {status}; only what failed or was cancelled is resubmitted"),
            "wait for its end, or send `force: true` to do everything anew",
        ));
    }
    let request_id: RequestId = request
        .request_id
        .parse()
        .map_err(|e| Fault::internal(&e))?;
    let before = find::submission(&app, &viewer, request_id).await?;
    if dry_run {
        return preview(&app, &viewer, before).await;
    }
    let writer = &app.core().writer;
    let done = if retried {
        let job = JobId::of_request(request_id);
        writer.retry(job, viewer.actor()).await?.submitted
    } else {
        writer.submit(order_of(&viewer, before, key)).await?
    };
    let (code, status) = match done.repeated {
        false => (StatusCode::ACCEPTED, SubmitStatus::Accepted),
        true => (StatusCode::OK, SubmitStatus::Existing),
    };
    let mut answer = answer_of(&app, &viewer, status, Some(done.request_id)).await?;
    answer.asset_id = done.asset_id.map(|id| id.to_string());
    answer.position = Some(done.pos);
    Ok((code, Json(answer)))
}

async fn preview(
    app: &App,
    viewer: &Viewer,
    before: Submission,
) -> Result<(StatusCode, Json<SubmitAnswer>), Fault> {
    let asset_id = before.asset_id.map(|id| id.to_string());
    let callbacks = before.callbacks.len();
    let priority = before.priority.as_str();
    let order = order_of(viewer, before, None);
    let preflight = app.core().writer.preflight(&order).await?;
    if let Some(refusal) = preflight.refusal {
        return Err(refusal.into());
    }
    let mut answer = answer_of(app, viewer, SubmitStatus::DryRun, None).await?;
    answer.asset_id = asset_id;
    answer.plan = Some(Plan {
        platform_id: order.platform_id,
        platform_refs: order.refs,
        asset_exists: preflight.asset_exists,
        workflow_id: order.workflow_id,
        workflow_version: preflight.workflow_version.unwrap_or_default(),
        inputs: preflight.inputs,
        priority,
        callbacks,
    });
    Ok((StatusCode::OK, Json(answer)))
}

/// The same work under a new key.
fn order_of(viewer: &Viewer, before: Submission, key: Option<String>) -> Order {
    let key = key.map_or_else(
        || format!("again {}", fresh_id()),
        |key| format!("key {key}"),
    );
    Order {
        org_id: before.org_id,
        actor: viewer.actor().to_owned(),
        platform_id: before.platform_id,
        refs: before.refs,
        workflow_id: before.workflow_id,
        workflow_version: before.workflow_version,
        inputs: before.inputs,
        priority: Some(before.priority),
        callbacks: before.callbacks,
        retry_of: None,
        forked_from: None,
        trace: viewer.trace.clone(),
        idempotency_key: Some(key),
    }
}
