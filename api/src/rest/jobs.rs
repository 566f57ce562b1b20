//! The facade of job types: submit by type and parameters, ask by hash, in the words of G-10, G-21 and G-23.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use commands::submit::Order;
use domain::access::Role;
use domain::id::{JobId, RequestId};
use domain::platform::Refs;
use domain::request::{Inputs, parameters_key};
use projections::read::{self, Request};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::extract::{Body, PathText};
use super::fields::problem;
use super::find;
use super::submit::{monitor_url, refused};
use super::view::{error_of, failure_view};
use crate::app::App;
use crate::error::Fault;
use crate::viewer::Viewer;

/// The answer to a submission by job type.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobAccepted {
    /// The SHA-256 of type and parameters: the same submission has the same.
    pub(crate) job_id: String,
    pub(crate) request_id: String,
    /// The id of the job everywhere else.
    pub(crate) strata_job_id: String,
    pub(crate) job_type: String,
    /// QUEUED if it is new, else its state.
    pub(crate) status: String,
    pub(crate) monitor_url: String,
}

/// A job in the words of the facade.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobRecord {
    /// The hash that it was submitted with, or its id everywhere else.
    pub(crate) job_id: String,
    pub(crate) request_id: String,
    pub(crate) strata_job_id: String,
    pub(crate) job_type: String,
    /// QUEUED, PROCESSING, COMPLETED or FAILED; a cancelled job is FAILED with the error code `cancelled`.
    pub(crate) status: String,
    pub(crate) stage: i32,
    pub(crate) total_stages: i32,
    #[schema(value_type = Object)]
    pub(crate) parameters: Value,
    #[schema(value_type = Object)]
    pub(crate) stage_results: Value,
    pub(crate) result_data: Option<Value>,
    #[schema(value_type = Option<Object>)]
    pub(crate) error_details: Option<Value>,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) completed_at: Option<DateTime<Utc>>,
}

/// The result of a completed job.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobResult {
    pub(crate) job_id: String,
    pub(crate) request_id: String,
    /// Always COMPLETED.
    #[schema(value_type = String)]
    pub(crate) status: &'static str,
    pub(crate) result: Value,
    pub(crate) completed_at: Option<DateTime<Utc>>,
}

/// Submits a job by its type
///
/// The body is the parameters. The same type with the same parameters is the same job, and answers 200.
#[utoipa::path(
    post, path = "/api/jobs/submit/{job_type}", operation_id = "submit_job", tag = "jobs",
    params(("job_type" = String, Path, description = "The id of a workflow.", pattern = "^[a-z][a-z0-9_-]{0,63}$")),
    responses(
        (status = 202, description = "Accepted.", body = JobAccepted),
        (status = 200, description = "Submitted before.", body = JobAccepted),
    ),
    extensions(("x-strata-role" = json!("writer"))),
)]
pub(crate) async fn submit_job(
    State(app): State<App>,
    viewer: Viewer,
    PathText(job_type): PathText,
    Body(parameters): Body,
) -> Result<(StatusCode, Json<JobAccepted>), Fault> {
    viewer.require(Role::Writer)?;
    let hash = parameters_key(&job_type, &parameters);
    let order = order_of(&viewer, job_type, parameters, hash.clone());
    let preflight = app.core().writer.preflight(&order).await?;
    let problems: Vec<_> = preflight
        .flaws
        .into_iter()
        .map(|flaw| {
            let field = match flaw.field.strip_prefix("inputs.") {
                Some(name) => name.to_owned(),
                None if flaw.field == "workflow_id" => "job_type".to_owned(),
                None => flaw.field,
            };
            problem(field, flaw.code, flaw.message)
        })
        .collect();
    if problems.iter().any(|problem| problem.field == "job_type") {
        return Err(Fault::not_found("job type", &order.workflow_id));
    }
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    let job_type = order.workflow_id.clone();
    let done = app.core().writer.submit(order).await?;
    let (code, status) = if done.repeated {
        let request = find::request(&app, &viewer, find::Named::Request(done.request_id)).await?;
        (
            StatusCode::OK,
            record(&app, &viewer, &request).await?.status,
        )
    } else {
        (StatusCode::ACCEPTED, "QUEUED".to_owned())
    };
    let answer = JobAccepted {
        job_id: hash,
        request_id: done.request_id.to_string(),
        strata_job_id: done.job_id.to_string(),
        job_type,
        status,
        monitor_url: monitor_url(&app, done.request_id),
    };
    Ok((code, Json(answer)))
}

fn order_of(viewer: &Viewer, workflow_id: String, inputs: Inputs, key: String) -> Order {
    Order {
        org_id: viewer.org().to_owned(),
        actor: viewer.actor().to_owned(),
        platform_id: "strata".to_owned(),
        refs: Refs::default(),
        workflow_id,
        workflow_version: None,
        inputs,
        priority: None,
        callbacks: Vec::new(),
        retry_of: None,
        forked_from: None,
        trace: viewer.trace.clone(),
        idempotency_key: Some(key),
    }
}

/// The record of a job
///
/// Takes the hash of a submission by type, a request id or a job id.
#[utoipa::path(
    get, path = "/api/jobs/status/{id}", operation_id = "job_status", tag = "jobs",
    params(("id" = String, Path, description = "A hash, a request id or a job id.",
        pattern = "^([0-9a-f]{64}|(req|job)_[0-9a-f]{32})$")),
    responses((status = 200, description = "The record.", body = JobRecord)),
    extensions(("x-strata-role" = json!("reader"))),
)]
pub(crate) async fn job_status(
    State(app): State<App>,
    viewer: Viewer,
    PathText(id): PathText,
) -> Result<Json<JobRecord>, Fault> {
    let named = find::named_or_hash(&viewer, &id)?;
    let request = find::request(&app, &viewer, named).await?;
    Ok(Json(record(&app, &viewer, &request).await?))
}

async fn record(app: &App, viewer: &Viewer, request: &Request) -> Result<JobRecord, Fault> {
    let request_id: RequestId = request
        .request_id
        .parse()
        .map_err(|e| Fault::internal(&e))?;
    let strata_job_id = JobId::of_request(request_id).to_string();
    let job_id = hash_of(viewer, request, request_id).unwrap_or_else(|| strata_job_id.clone());
    let row = read::job_record(&app.core().pool, viewer.org(), &strata_job_id).await?;
    let Some(row) = row else {
        return Ok(waiting(request, job_id, strata_job_id));
    };
    let error = row.error_details.as_ref().and_then(failure_view);
    Ok(JobRecord {
        job_id,
        request_id: row.request_id,
        strata_job_id,
        job_type: row.job_type,
        status: row.status,
        stage: row.stage,
        total_stages: row.total_stages,
        parameters: row.parameters,
        stage_results: row.stage_results,
        result_data: row.result_data,
        error_details: error.map(|error| json!(error)),
        created_at: row.created_at,
        updated_at: row.updated_at,
        completed_at: row.completed_at,
    })
}

/// A request that no orchestrator has taken, or that was taken back.
fn waiting(request: &Request, job_id: String, strata_job_id: String) -> JobRecord {
    let error = error_of(request, None);
    JobRecord {
        job_id,
        request_id: request.request_id.clone(),
        strata_job_id,
        job_type: request.workflow_id.clone(),
        status: if error.is_some() { "FAILED" } else { "QUEUED" }.to_owned(),
        stage: 0,
        total_stages: 0,
        parameters: request.inputs.clone(),
        stage_results: Value::Object(Map::new()),
        result_data: None,
        completed_at: error.is_some().then_some(request.updated_at),
        error_details: error.map(|error| json!(error)),
        created_at: request.submitted_at,
        updated_at: request.updated_at,
    }
}

/// The hash that a request was submitted with, if it came in by its type.
fn hash_of(viewer: &Viewer, request: &Request, request_id: RequestId) -> Option<String> {
    let parameters = request.inputs.as_object()?;
    let hash = parameters_key(&request.workflow_id, parameters);
    (RequestId::from_key(viewer.org(), &hash) == request_id).then_some(hash)
}

/// The result of a job
///
/// 409 as long as there is none, and when there will be none.
#[utoipa::path(
    get, path = "/api/jobs/{id}/result", operation_id = "job_result", tag = "jobs",
    params(("id" = String, Path, description = "A hash, a request id or a job id.",
        pattern = "^([0-9a-f]{64}|(req|job)_[0-9a-f]{32})$")),
    responses((status = 200, description = "The result.", body = JobResult)),
    extensions(("x-strata-role" = json!("reader"))),
)]
pub(crate) async fn job_result(
    State(app): State<App>,
    viewer: Viewer,
    PathText(id): PathText,
) -> Result<Json<JobResult>, Fault> {
    let named = find::named_or_hash(&viewer, &id)?;
    let request = find::request(&app, &viewer, named).await?;
    let job = find::job(&app, &request).await?;
    if let Some(error) = error_of(&request, job.as_ref()) {
        let message = format!("there will be no result: {}", error.message);
        return Err(Fault::conflict("JOB_FAILED", message, error.remediation));
    }
    let not_yet = || {
        Fault::conflict(
            "NOT_FINISHED",
            "the job has no result yet",
            "ask again later",
        )
    };
    let job = job
        .filter(|job| job.completed_at.is_some())
        .ok_or_else(not_yet)?;
    Ok(Json(JobResult {
        job_id: job.job_id,
        request_id: job.request_id,
        status: "COMPLETED",
        result: job.result.unwrap_or_default(),
        completed_at: job.completed_at,
    }))
}
