//! Requests.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool};

use super::{Page, limit, parse_time_cursor, time_cursor};
use crate::Error;

/// A row of `requests`.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct Request {
    pub request_id: String,
    pub org_id: String,
    pub platform_id: String,
    pub asset_id: Option<String>,
    pub refs: Value,
    pub workflow_id: String,
    pub workflow_version: Option<i32>,
    pub inputs: Value,
    pub priority: String,
    pub callbacks: Value,
    pub status: String,
    pub job_id: Option<String>,
    pub reason: Option<String>,
    pub submitted_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub last_pos: i64,
}

impl Request {
    /// Where the list goes on after this row.
    #[must_use]
    pub fn cursor(&self) -> String {
        time_cursor(self.submitted_at, &self.request_id)
    }
}

/// Which requests to list.
#[derive(Debug, Clone, Default)]
pub struct RequestFilter {
    pub org_id: Option<String>,
    /// `waiting`, `assigned` or `withdrawn`.
    pub status: Option<String>,
    pub asset_id: Option<String>,
    pub limit: i64,
    pub cursor: Option<String>,
}

/// Requests, newest first.
pub async fn requests(pool: &PgPool, filter: &RequestFilter) -> Result<Page<Request>, Error> {
    let limit = limit(filter.limit);
    let cursor = parse_time_cursor(filter.cursor.as_deref())?;
    let rows = sqlx::query_as(
        "select request_id, org_id, platform_id, asset_id, refs, workflow_id, workflow_version, inputs, priority,
                callbacks,                status, job_id, reason, submitted_at, updated_at, last_pos
         from dagapp.requests
         where ($1::text is null or org_id = $1) and ($2::text is null or status = $2)
           and ($3::text is null or asset_id = $3)
           and ($4::timestamptz is null or (submitted_at, request_id) < ($4, $5::text))
         order by submitted_at desc, request_id desc limit $6",
    )
    .persistent(false)
    .bind(&filter.org_id)
    .bind(&filter.status)
    .bind(&filter.asset_id)
    .bind(cursor.map(|(at, _)| at))
    .bind(cursor.map(|(_, id)| id))
    .bind(limit + 1)
    .fetch_all(pool)
    .await?;
    Ok(Page::cut(rows, limit, Request::cursor))
}

/// Those of these requests that belong to the organisation, in no order.
pub async fn requests_by_id(
    pool: &PgPool,
    org_id: &str,
    ids: &[String],
) -> Result<Vec<Request>, Error> {
    let rows = sqlx::query_as(
        "select request_id, org_id, platform_id, asset_id, refs, workflow_id, workflow_version, inputs, priority,
                callbacks,                status, job_id, reason, submitted_at, updated_at, last_pos
         from dagapp.requests where request_id = any($1) and org_id = $2",
    );
    Ok(rows.bind(ids).bind(org_id).fetch_all(pool).await?)
}
