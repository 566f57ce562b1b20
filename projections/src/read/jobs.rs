//! Jobs.

use chrono::{DateTime, Utc};
use domain::job::JobStatus;
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool};

use super::{Page, limit, parse_time_cursor, time_cursor};
use crate::Error;

/// A row of `dag_jobs` with the heartbeat of its owner.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct Job {
    pub job_id: String,
    pub workflow_id: String,
    pub workflow_version: i32,
    pub workflow_hash: String,
    pub status: String,
    pub input_params: Value,
    pub request_id: String,
    pub org_id: String,
    pub priority: String,
    pub origin: Option<Value>,
    pub owner_id: Option<String>,
    pub owner_heartbeat_at: Option<DateTime<Utc>>,
    pub paused: bool,
    pub result: Option<Value>,
    pub failure: Option<Value>,
    pub pending: i32,
    pub ready: i32,
    pub dispatched: i32,
    pub running: i32,
    pub completed: i32,
    pub failed: i32,
    pub skipped: i32,
    pub degraded: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
    pub last_pos: i64,
}

/// Which jobs to list.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    pub status: Option<JobStatus>,
    pub workflow_id: Option<String>,
    pub org_id: Option<String>,
    pub limit: i64,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// Jobs, newest first.
pub async fn jobs(pool: &PgPool, filter: &JobFilter) -> Result<Page<Job>, Error> {
    let limit = limit(filter.limit);
    let cursor = parse_time_cursor(filter.cursor.as_deref())?;
    // Not kept prepared: each combination of filters wants a plan, and an index, of its own.
    let rows = sqlx::query_as(
        "select job_id, workflow_id, workflow_version, workflow_hash, status::text as status, input_params,
                request_id, org_id, priority, origin, owner_id, owner_heartbeat_at, paused, result, failure,
                pending, ready, dispatched, running, completed, failed, skipped, degraded, created_at,
                updated_at, completed_at, last_pos
         from dagapp.dag_jobs_with_owner
         where ($1::text is null or status = $1::dagapp.job_status)
           and ($2::text is null or workflow_id = $2)
           and ($3::text is null or org_id = $3)
           and ($4::timestamptz is null or (created_at, job_id) < ($4, $5::text))
         order by created_at desc, job_id desc limit $6",
    )
    .persistent(false)
    .bind(filter.status.map(JobStatus::word))
    .bind(&filter.workflow_id)
    .bind(&filter.org_id)
    .bind(cursor.map(|(at, _)| at))
    .bind(cursor.map(|(_, id)| id))
    .bind(limit + 1)
    .fetch_all(pool)
    .await?;
    Ok(Page::cut(rows, limit, |job: &Job| {
        time_cursor(job.created_at, &job.job_id)
    }))
}

/// One job.
pub async fn job(pool: &PgPool, job_id: &str) -> Result<Option<Job>, Error> {
    let row = sqlx::query_as(
        "select job_id, workflow_id, workflow_version, workflow_hash, status::text as status, input_params,
                request_id, org_id, priority, origin, owner_id, owner_heartbeat_at, paused, result, failure,
                pending, ready, dispatched, running, completed, failed, skipped, degraded, created_at,
                updated_at, completed_at, last_pos
         from dagapp.dag_jobs_with_owner where job_id = $1",
    )
    .bind(job_id)
    .fetch_optional(pool)
    .await?;
    Ok(row)
}
