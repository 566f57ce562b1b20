//! Callbacks, and what came of each try.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool};

use super::{Page, limit, parse_time_cursor, time_cursor};
use crate::Error;

/// A row of `callback_outbox`.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct Callback {
    pub callback_id: String,
    pub job_id: String,
    pub request_id: String,
    pub org_id: String,
    /// The place in the list of the request, from 0.
    pub ordinal: i32,
    pub url: String,
    pub secret_ref: String,
    pub retry_count: i32,
    pub timeout_seconds: i32,
    /// `waiting`, `due`, `delivered` or `given_up`.
    pub status: String,
    pub job_status: Option<String>,
    pub job_error: Option<Value>,
    pub ended_at: Option<DateTime<Utc>>,
    /// How often a person has asked for it again, and the tries since.
    pub round: i32,
    pub attempts: i32,
    /// All tries of all rounds.
    pub deliveries: i32,
    pub due_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub settled_at: Option<DateTime<Utc>>,
    /// Of the last try.
    pub last_status: Option<i32>,
    pub last_code: Option<String>,
    pub last_error: Option<String>,
}

impl Callback {
    /// Where the list goes on after this row.
    #[must_use]
    pub fn cursor(&self) -> String {
        time_cursor(self.created_at, &self.callback_id)
    }
}

/// A row of `callback_deliveries`: one try.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize)]
pub struct Delivery {
    pub callback_id: String,
    /// Counted over all rounds.
    pub attempt: i32,
    pub round: i32,
    pub at: DateTime<Utc>,
    pub duration_ms: i32,
    pub status_code: Option<i32>,
    pub error_code: Option<String>,
    pub error: Option<String>,
    pub by_hand: bool,
}

/// Which callbacks to list.
#[derive(Debug, Clone, Default)]
pub struct CallbackFilter {
    /// `waiting`, `due`, `delivered` or `given_up`.
    pub status: Option<String>,
    pub job_id: Option<String>,
    pub limit: i64,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// What waits to be delivered.
#[derive(Debug, Clone, Copy, PartialEq, FromRow, Serialize)]
pub struct CallbackBacklog {
    /// Callbacks of ended jobs that are neither delivered nor given up.
    pub count: i64,
    /// Since when the oldest of them is owed.
    pub oldest_s: f64,
    /// Endpoints that are left alone because they only fail.
    pub open_endpoints: i64,
}

/// Callbacks of an organisation, newest first.
pub async fn callbacks(
    pool: &PgPool,
    org_id: &str,
    filter: &CallbackFilter,
) -> Result<Page<Callback>, Error> {
    let limit = limit(filter.limit);
    let cursor = parse_time_cursor(filter.cursor.as_deref())?;
    let rows = sqlx::query_as(
        "select callback_id, job_id, request_id, org_id, ordinal, url, secret_ref, retry_count, timeout_seconds,
                status, job_status, job_error, ended_at, round, attempts, deliveries, due_at, created_at,
                settled_at, last_status, last_code, last_error
         from dagapp.callback_outbox
         where org_id = $1 and ($2::text is null or status = $2) and ($3::text is null or job_id = $3)
           and ($4::timestamptz is null or (created_at, callback_id) < ($4, $5::text))
         order by created_at desc, callback_id desc limit $6",
    )
    .persistent(false)
    .bind(org_id)
    .bind(&filter.status)
    .bind(&filter.job_id)
    .bind(cursor.map(|(at, _)| at))
    .bind(cursor.map(|(_, id)| id))
    .bind(limit + 1)
    .fetch_all(pool)
    .await?;
    Ok(Page::cut(rows, limit, Callback::cursor))
}

/// One callback of an organisation.
pub async fn callback(
    pool: &PgPool,
    org_id: &str,
    callback_id: &str,
) -> Result<Option<Callback>, Error> {
    let row = sqlx::query_as(
        "select callback_id, job_id, request_id, org_id, ordinal, url, secret_ref, retry_count, timeout_seconds,
                status, job_status, job_error, ended_at, round, attempts, deliveries, due_at, created_at,
                settled_at, last_status, last_code, last_error
         from dagapp.callback_outbox where callback_id = $1 and org_id = $2",
    )
    .bind(callback_id)
    .bind(org_id)
    .fetch_optional(pool)
    .await?;
    Ok(row)
}

/// The callbacks of several jobs, each job's in order; whoever asks has seen the jobs.
pub async fn callbacks_of_jobs(pool: &PgPool, jobs: &[String]) -> Result<Vec<Callback>, Error> {
    let rows = sqlx::query_as(
        "select callback_id, job_id, request_id, org_id, ordinal, url, secret_ref, retry_count, timeout_seconds,
                status, job_status, job_error, ended_at, round, attempts, deliveries, due_at, created_at,
                settled_at, last_status, last_code, last_error
         from dagapp.callback_outbox where job_id = any($1) order by job_id, ordinal",
    )
    .bind(jobs)
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// The tries of several callbacks, each callback's in order; at most fifty of each are kept.
pub async fn deliveries(pool: &PgPool, callbacks: &[String]) -> Result<Vec<Delivery>, Error> {
    let rows = sqlx::query_as(
        "select callback_id, attempt, round, at, duration_ms, status_code, error_code, error, by_hand
         from dagapp.callback_deliveries where callback_id = any($1) order by callback_id, attempt",
    )
    .bind(callbacks)
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// How much waits, of all organisations.
pub async fn callback_backlog(pool: &PgPool) -> Result<CallbackBacklog, Error> {
    let row = sqlx::query_as(
        "select count(*) as count,
                coalesce(extract(epoch from clock_timestamp() - min(ended_at)), 0)::float8 as oldest_s,
                (select count(*) from dagapp.callback_endpoints
                 where open_until > clock_timestamp()) as open_endpoints
         from dagapp.callback_outbox where status = 'due'",
    )
    .fetch_one(pool)
    .await?;
    Ok(row)
}
