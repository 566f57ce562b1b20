//! Submit: a payload of a partner becomes a request, once (O-20, O-130, U-31, U-37).

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use commands::submit::{Order, SubmitError};
use domain::access::Role;
use domain::id::{JobId, RequestId};
use projections::read::{self, AssetFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::adapters::{Previous, Work, adapt, told};
use super::callbacks::{callbacks_of, problems_of};
use super::extract::{Args, Body, PathText};
use super::fields::PROBLEMS_MAX;
use crate::app::App;
use crate::error::{Category, Fault, Problem};
use crate::viewer::Viewer;

/// Rounds of the same work that are looked at together, and altogether.
const ROUNDS: u32 = 64;
const ROUNDS_MAX: u32 = 1_024;

/// What became of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubmitStatus {
    /// It is in the log.
    Accepted,
    /// It had been submitted before; this is the same request.
    Existing,
    /// Nothing was written.
    DryRun,
}

/// The answer to a submission.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SubmitAnswer {
    pub(crate) status: SubmitStatus,
    /// Ask for its status with this; null only in a dry run of something new.
    pub(crate) request_id: Option<String>,
    /// Null until an orchestrator has taken the request.
    pub(crate) job_id: Option<String>,
    /// Null if the work is for no asset.
    pub(crate) asset_id: Option<String>,
    /// Where its status is.
    pub(crate) monitor_url: Option<String>,
    /// Position in the log; queries may wait for it.
    pub(crate) position: Option<u64>,
    /// What was given and has no effect.
    pub(crate) warnings: Vec<String>,
    /// What would run; only in a dry run.
    pub(crate) plan: Option<Plan>,
}

/// What a dry run found out.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Plan {
    pub(crate) platform_id: String,
    #[schema(value_type = Object)]
    pub(crate) platform_refs: Map<String, Value>,
    pub(crate) asset_exists: bool,
    pub(crate) workflow_id: String,
    pub(crate) workflow_version: u32,
    /// As the job would see them, completed by defaults.
    #[schema(value_type = Object)]
    pub(crate) inputs: Map<String, Value>,
    #[schema(value_type = String)]
    pub(crate) priority: &'static str,
    pub(crate) callbacks: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmitArgs {
    dry_run: Option<bool>,
}

/// Submits work for a platform
///
/// The body is in our own words (`SubmitBody`), or the payload of DDH, ArcGIS or a plain portal, which is told by
/// `platform_id` or by its fields. All problems are listed at once. The same submission again answers 200 with the
/// same request: by `Idempotency-Key` if given, else by its content (platform, refs, workflow, inputs). To process
/// the same content again, send a new key, `operation: UPDATE` or `processing_options.overwrite`.
#[utoipa::path(
    post, path = "/api/platform/submit", operation_id = "submit", tag = "platform",
    params(
        ("dry_run" = Option<bool>, Query, description = "Only say what would happen."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key always stands for the same request.",
            min_length = 1, max_length = 256),
    ),
    responses(
        (status = 202, description = "Accepted; no job exists yet.", body = SubmitAnswer),
        (status = 200, description = "Submitted before, or a dry run.", body = SubmitAnswer),
    ),
    extensions(("x-strata-role" = json!("writer"))),
)]
pub(crate) async fn submit(
    State(app): State<App>,
    viewer: Viewer,
    Args(args): Args<SubmitArgs>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<(StatusCode, Json<SubmitAnswer>), Fault> {
    answer(&app, &viewer, None, args, &headers, body).await
}

/// Submits work for the platform of the path
///
/// As `submit`, with `platform_id` in the path.
#[utoipa::path(
    post, path = "/api/platform/{platform_id}/submit", operation_id = "submit_for", tag = "platform",
    params(
        ("platform_id" = String, Path, description = "A registered platform.", pattern = "^[a-z][a-z0-9_-]{0,63}$"),
        ("dry_run" = Option<bool>, Query, description = "Only say what would happen."),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key always stands for the same request.",
            min_length = 1, max_length = 256),
    ),
    responses(
        (status = 202, description = "Accepted; no job exists yet.", body = SubmitAnswer),
        (status = 200, description = "Submitted before, or a dry run.", body = SubmitAnswer),
    ),
    extensions(("x-strata-role" = json!("writer"))),
)]
pub(crate) async fn submit_for(
    State(app): State<App>,
    viewer: Viewer,
    PathText(platform): PathText,
    Args(args): Args<SubmitArgs>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<(StatusCode, Json<SubmitAnswer>), Fault> {
    answer(&app, &viewer, Some(&platform), args, &headers, body).await
}

async fn answer(
    app: &App,
    viewer: &Viewer,
    platform: Option<&str>,
    args: SubmitArgs,
    headers: &HeaderMap,
    body: Map<String, Value>,
) -> Result<(StatusCode, Json<SubmitAnswer>), Fault> {
    viewer.require(Role::Writer)?;
    let key = given_key(headers)?;
    let (work, mut problems) = adapt(platform, body);
    problems.extend(problems_of(
        &work.callbacks,
        &app.core().options.callback_rules,
    ));
    let order = order_of(app, viewer, &work, key).await?;
    let preflight = app.core().writer.preflight(&order).await?;
    for flaw in preflight.flaws.iter().cloned() {
        problems.extend(told(&work, &problems, flaw));
    }
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    if let Some(refusal) = preflight.refusal {
        return Err(refusal.into());
    }
    if let Some(previous) = work.previous.as_ref().filter(|_| !preflight.asset_exists) {
        check_chain(app, viewer, &work, previous).await?;
    }
    if args.dry_run == Some(true) {
        let plan = Plan {
            platform_id: work.platform_id,
            platform_refs: work.refs,
            asset_exists: preflight.asset_exists,
            workflow_id: work.workflow_id,
            workflow_version: preflight.workflow_version.unwrap_or_default(),
            inputs: preflight.inputs,
            priority: preflight.priority.as_str(),
            callbacks: work.callbacks.len(),
        };
        let mut answer = answer_of(app, viewer, SubmitStatus::DryRun, preflight.known).await?;
        answer.asset_id = preflight.asset_id.map(|id| id.to_string());
        answer.warnings = work.warnings;
        answer.plan = Some(plan);
        return Ok((StatusCode::OK, Json(answer)));
    }
    let (pool, rules) = (&app.core().pool, &app.core().options.callback_rules);
    let callbacks = callbacks_of(pool, rules, viewer.org(), &work.callbacks, true).await?;
    let order = Order { callbacks, ..order };
    let title = work.title.as_deref();
    let done = app.core().writer.submit_titled(order, title).await?;
    let (code, status) = match done.repeated {
        false => (StatusCode::ACCEPTED, SubmitStatus::Accepted),
        true => (StatusCode::OK, SubmitStatus::Existing),
    };
    let mut answer = answer_of(app, viewer, status, Some(done.request_id)).await?;
    answer.asset_id = done.asset_id.map(|id| id.to_string());
    answer.position = Some(done.pos);
    answer.warnings = work.warnings;
    Ok((code, Json(answer)))
}

/// The answer about a request, without what the caller knows better.
pub(super) async fn answer_of(
    app: &App,
    viewer: &Viewer,
    status: SubmitStatus,
    request_id: Option<RequestId>,
) -> Result<SubmitAnswer, Fault> {
    let job_id = match request_id {
        // A request of this moment has no job.
        Some(id) if status != SubmitStatus::Accepted => {
            let ids = [id.to_string()];
            let rows = read::requests_by_id(&app.core().pool, viewer.org(), &ids).await?;
            rows.into_iter().next().and_then(|request| request.job_id)
        }
        _ => None,
    };
    Ok(SubmitAnswer {
        status,
        request_id: request_id.map(|id| id.to_string()),
        job_id,
        asset_id: None,
        monitor_url: request_id.map(|id| monitor_url(app, id)),
        position: None,
        warnings: Vec::new(),
        plan: None,
    })
}

pub(super) fn monitor_url(app: &App, request_id: RequestId) -> String {
    let base = app.core().options.public_url.trim_end_matches('/');
    format!("{base}/api/platform/status/{request_id}")
}

pub(super) fn refused(mut problems: Vec<Problem>) -> Fault {
    problems.truncate(PROBLEMS_MAX);
    let message = match &problems[..] {
        [only] => only.message.clone(),
        many => format!("the request has {} problems", many.len()),
    };
    let remedy = "mend everything that `problems` names; `dry_run=true` checks without submitting";
    Fault::invalid("INVALID_REQUEST", message, remedy).with(problems)
}

/// The key of the header, if there is one.
pub(super) fn given_key(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| Fault::from(SubmitError::Key))?;
    Ok(Some(text.to_owned()))
}

async fn order_of(
    app: &App,
    viewer: &Viewer,
    work: &Work,
    key: Option<String>,
) -> Result<Order, Fault> {
    let key = match key {
        // Kept apart from keys that we make ourselves.
        Some(key) if key.trim().is_empty() => key,
        Some(key) => format!("key {key}"),
        None if work.anew => next_round(app, viewer, work).await?,
        None => work.content_key(0),
    };
    Ok(Order {
        org_id: viewer.org().to_owned(),
        actor: viewer.actor().to_owned(),
        platform_id: work.platform_id.clone(),
        refs: work.refs.clone(),
        workflow_id: work.workflow_id.clone(),
        workflow_version: work.workflow_version,
        inputs: work.inputs.clone(),
        priority: work.priority,
        // Secrets are stored, and get their names, when nothing can go wrong any more.
        callbacks: callbacks_without_secrets(work),
        retry_of: None,
        forked_from: None,
        trace: viewer.trace.clone(),
        idempotency_key: Some(key),
    })
}

fn callbacks_without_secrets(work: &Work) -> Vec<domain::request::CallbackRef> {
    let each = work
        .callbacks
        .iter()
        .map(|wish| domain::request::CallbackRef {
            url: wish.url.clone(),
            secret_ref: None,
            retry_count: wish.retry_count,
            timeout_seconds: wish.timeout_seconds,
        });
    each.collect()
}

/// The key under which the same content is processed again: that of the round under way, or of a new one.
async fn next_round(app: &App, viewer: &Viewer, work: &Work) -> Result<String, Fault> {
    let pool = &app.core().pool;
    for first in (1..ROUNDS_MAX).step_by(ROUNDS as usize) {
        let keys: Vec<String> = (first..first + ROUNDS)
            .map(|round| work.content_key(round))
            .collect();
        let requests: Vec<RequestId> = keys
            .iter()
            .map(|key| RequestId::from_key(viewer.org(), key))
            .collect();
        let jobs: Vec<String> = requests
            .iter()
            .map(|id| JobId::of_request(*id).to_string())
            .collect();
        let ended = read::jobs_by_id(pool, viewer.org(), &jobs).await?;
        let texts: Vec<String> = requests.iter().map(RequestId::to_string).collect();
        let known = read::requests_by_id(pool, viewer.org(), &texts).await?;
        for ((key, request), job) in keys.into_iter().zip(&texts).zip(&jobs) {
            let withdrawn = known
                .iter()
                .any(|r| r.request_id == *request && r.status == "withdrawn");
            let done = ended
                .iter()
                .any(|j| j.job_id == *job && j.completed_at.is_some());
            if !withdrawn && !done {
                return Ok(key);
            }
        }
    }
    Err(Fault::new(
        Category::Conflict,
        "TOO_MANY_ROUNDS",
        "the same content was processed too often without a key",
        "send an Idempotency-Key of your own",
    ))
}

/// A new version must follow the latest one that we know (U-33).
async fn check_chain(
    app: &App,
    viewer: &Viewer,
    work: &Work,
    previous: &Previous,
) -> Result<(), Fault> {
    let filter = AssetFilter {
        org_id: Some(viewer.org().to_owned()),
        platform_id: Some(work.platform_id.clone()),
        refs: Some(Value::Object(previous.series.clone())),
        limit: 1,
        ..AssetFilter::default()
    };
    let latest = read::assets(&app.core().pool, &filter).await?.items.pop();
    let latest = latest.and_then(|asset| asset.platform_refs.get(previous.name).cloned());
    if latest.as_ref() == Some(&previous.value) {
        return Ok(());
    }
    let message = match latest {
        Some(latest) => format!(
            "the latest {} is {latest}, not {}",
            previous.name, previous.value
        ),
        None => format!("there is no {} yet that this could follow", previous.name),
    };
    let fault = Fault::conflict(
        "VERSION_CHAIN",
        message,
        "look the versions up, and follow the latest one",
    );
    Err(fault)
}
