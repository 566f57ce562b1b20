//! Finds what an id of a caller means, in its organisation. What was written a moment ago is found too: if the
//! read models do not show it yet, they are waited for.

use std::time::Duration;

use commands::log::Recorded;
use domain::asset::AssetId;
use domain::event::Event;
use domain::id::{JobId, RequestId};
use domain::request::{self, Submission};
use domain::{job, json::is_sha256_hex};
use projections::read::{self, Asset, Job, Request};

use super::extract::bad_id;
use crate::app::App;
use crate::error::Fault;
use crate::viewer::Viewer;

/// How long the read models may take to show what is in the log.
const CATCH_UP: Duration = Duration::from_secs(2);

/// What an id stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Request(RequestId),
    Job(JobId),
}

/// A request id or a job id.
pub(super) fn named(text: &str) -> Result<Named, Fault> {
    if let Ok(request) = text.parse() {
        return Ok(Named::Request(request));
    }
    if let Ok(job) = text.parse() {
        return Ok(Named::Job(job));
    }
    Err(bad_id(text, "the id of a request or of a job"))
}

/// The same, or the hash of the parameters that a job type was submitted with.
pub(super) fn named_or_hash(viewer: &Viewer, text: &str) -> Result<Named, Fault> {
    if is_sha256_hex(text) {
        return Ok(Named::Request(RequestId::from_key(viewer.org(), text)));
    }
    named(text)
}

/// The request that an id stands for.
pub(super) async fn request(app: &App, viewer: &Viewer, named: Named) -> Result<Request, Fault> {
    let request_id = match named {
        Named::Request(id) => id,
        Named::Job(id) => request_of(app, id).await?,
    };
    // By the name that was asked for: a request of somebody else must not be told.
    let shown = || match named {
        Named::Request(id) => Fault::not_found("request", &id.to_string()),
        Named::Job(id) => Fault::not_found("job", &id.to_string()),
    };
    let ids = [request_id.to_string()];
    let pool = &app.core().pool;
    let rows = read::requests_by_id(pool, viewer.org(), &ids).await?;
    if let Some(row) = rows.into_iter().next() {
        return Ok(row);
    }
    let first = first_of(app, &format!("request:{request_id}")).await?;
    let first = first.filter(|first| first.org_id == viewer.org());
    let pos = i64::try_from(first.ok_or_else(shown)?.pos).unwrap_or(i64::MAX);
    read::wait_for(pool, pos, CATCH_UP).await?;
    let rows = read::requests_by_id(pool, viewer.org(), &ids).await?;
    rows.into_iter().next().ok_or_else(shown)
}

/// The request of a job, whether the job exists yet or not. It may be of another organisation.
async fn request_of(app: &App, job: JobId) -> Result<RequestId, Fault> {
    let unknown = || Fault::not_found("job", &job.to_string());
    if let Some(first) = first_of(app, &format!("job:{job}")).await? {
        return match first.decode() {
            Ok(Event::Job(job::Event::JobCreated(created))) => Ok(created.request_id),
            _ => Err(unknown()),
        };
    }
    let open = app.core().writer.log.open_job(job).await?;
    let request = open.and_then(|open| open.request_id.parse().ok());
    request.ok_or_else(unknown)
}

/// The job of a request, if there is one.
pub(super) async fn job(app: &App, request: &Request) -> Result<Option<Job>, Fault> {
    let Some(job_id) = request.job_id.clone() else {
        return Ok(None);
    };
    let jobs = read::jobs_by_id(&app.core().pool, &request.org_id, &[job_id]).await?;
    Ok(jobs.into_iter().next())
}

/// What a request asked for, straight from the log.
pub(super) async fn submission(
    app: &App,
    viewer: &Viewer,
    id: RequestId,
) -> Result<Submission, Fault> {
    let first = first_of(app, &format!("request:{id}")).await?;
    match first.map(|first| first.decode()) {
        Some(Ok(Event::Request(request::Event::RequestSubmitted { submission, .. })))
            if submission.org_id == viewer.org() =>
        {
            Ok(*submission)
        }
        _ => Err(Fault::not_found("request", &id.to_string())),
    }
}

/// An asset of the organisation, deleted or not.
pub(super) async fn asset(app: &App, viewer: &Viewer, id: AssetId) -> Result<Asset, Fault> {
    let ids = [id.to_string()];
    let pool = &app.core().pool;
    let rows = read::assets_by_id(pool, viewer.org(), &ids).await?;
    if let Some(row) = rows.into_iter().next() {
        return Ok(row);
    }
    let shown = || Fault::not_found("asset", &id.to_string());
    let first = first_of(app, &format!("asset:{id}")).await?;
    let first = first.filter(|first| first.org_id == viewer.org());
    let pos = i64::try_from(first.ok_or_else(shown)?.pos).unwrap_or(i64::MAX);
    read::wait_for(pool, pos, CATCH_UP).await?;
    let rows = read::assets_by_id(pool, viewer.org(), &ids).await?;
    rows.into_iter().next().ok_or_else(shown)
}

async fn first_of(app: &App, stream: &str) -> Result<Option<Recorded>, Fault> {
    let recorded = app.core().writer.log.read_stream(stream, 0, 1).await?;
    Ok(recorded.into_iter().next())
}
