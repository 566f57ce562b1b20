//! Jobs.

use chrono::{DateTime, Utc};
use domain::job::JobStatus;
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder};

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

impl Job {
    /// How it was made from another job (`retry_of`, `forked_from`), if it was.
    #[must_use]
    pub fn origin_kind(&self) -> Option<&str> {
        self.origin.as_ref()?.get("kind")?.as_str()
    }

    /// The job that it was made from, if any.
    #[must_use]
    pub fn origin_job(&self) -> Option<&str> {
        self.origin.as_ref()?.get("job_id")?.as_str()
    }

    /// Where the list goes on after this row.
    #[must_use]
    pub fn cursor(&self) -> String {
        time_cursor(self.created_at, &self.job_id)
    }
}

/// Which jobs to list.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Those of one organisation; of all with nothing.
    pub org_id: Option<String>,
    /// Any of these; all with none.
    pub statuses: Vec<JobStatus>,
    pub workflow_id: Option<String>,
    /// The beginning of a job's, a request's or an asset's id, or a part of the workflow's.
    pub text: Option<String>,
    pub created_from: Option<DateTime<Utc>>,
    /// Not included.
    pub created_until: Option<DateTime<Utc>>,
    pub limit: i64,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

const SELECT: &str =
    "select job_id, workflow_id, workflow_version, workflow_hash, status::text as status, input_params,
            request_id, org_id, priority, origin, owner_id, owner_heartbeat_at, paused, result, failure,
            pending, ready, dispatched, running, completed, failed, skipped, degraded, created_at,
            updated_at, completed_at, last_pos
     from dagapp.dag_jobs_with_owner j";

/// Jobs, newest first.
pub async fn jobs(pool: &PgPool, filter: &JobFilter) -> Result<Page<Job>, Error> {
    let limit = limit(filter.limit);
    let cursor = parse_time_cursor(filter.cursor.as_deref())?;
    let mut query = QueryBuilder::new(SELECT);
    conditions(&mut query, filter);
    if let Some((at, id)) = cursor {
        query.push(" and (created_at, job_id) < (");
        query.push_bind(at).push(", ").push_bind(id).push(")");
    }
    query.push(" order by created_at desc, job_id desc limit ");
    query.push_bind(limit + 1);
    // Not kept prepared: each combination of filters wants a plan, and an index, of its own.
    let rows = query.build_query_as().persistent(false).fetch_all(pool);
    Ok(Page::cut(rows.await?, limit, Job::cursor))
}

/// How many jobs that fit the filter have each status, whatever page and status it asks for.
pub async fn job_counts(pool: &PgPool, filter: &JobFilter) -> Result<Vec<(String, i64)>, Error> {
    let all = JobFilter {
        statuses: Vec::new(),
        ..filter.clone()
    };
    let mut query =
        QueryBuilder::new("select status::text, count(*) from dagapp.dag_jobs_with_owner j");
    conditions(&mut query, &all);
    query.push(" group by status order by status");
    let rows = query.build_query_as().persistent(false).fetch_all(pool);
    Ok(rows.await?)
}

/// What a list is of; the rows are called `j`.
pub(super) fn conditions(query: &mut QueryBuilder<Postgres>, filter: &JobFilter) {
    query.push(" where true");
    if let Some(org) = &filter.org_id {
        query.push(" and org_id = ").push_bind(org.clone());
    }
    if !filter.statuses.is_empty() {
        let words: Vec<&str> = filter.statuses.iter().map(|status| status.word()).collect();
        // Spelled out, because a single value lets an index give the order too.
        if let [word] = words[..] {
            query.push(" and status = ").push_bind(word);
            query.push("::dagapp.job_status");
        } else {
            query.push(" and status = any(").push_bind(words);
            query.push("::dagapp.job_status[])");
        }
    }
    if let Some(workflow) = &filter.workflow_id {
        query
            .push(" and workflow_id = ")
            .push_bind(workflow.clone());
    }
    if let Some(from) = filter.created_from {
        query.push(" and created_at >= ").push_bind(from);
    }
    if let Some(until) = filter.created_until {
        query.push(" and created_at < ").push_bind(until);
    }
    if let Some(text) = &filter.text {
        query
            .push(" and (starts_with(j.job_id, ")
            .push_bind(text.clone());
        query
            .push(") or starts_with(j.request_id, ")
            .push_bind(text.clone());
        query.push(") or position(").push_bind(text.to_lowercase());
        query.push(
            " in j.workflow_id) > 0 or exists (select from dagapp.requests r where r.request_id = ",
        );
        query.push("j.request_id and starts_with(r.asset_id, ");
        query.push_bind(text.clone()).push(")))");
    }
}

/// One job of whatever organisation.
pub async fn job(pool: &PgPool, job_id: &str) -> Result<Option<Job>, Error> {
    let ids = [job_id.to_owned()];
    Ok(by_id(pool, None, &ids).await?.pop())
}

/// These jobs, of whatever organisation, in no order.
pub(crate) async fn jobs_of(pool: &PgPool, ids: &[String]) -> Result<Vec<Job>, Error> {
    by_id(pool, None, ids).await
}

/// Those of these jobs that belong to the organisation, in no order.
pub async fn jobs_by_id(pool: &PgPool, org_id: &str, ids: &[String]) -> Result<Vec<Job>, Error> {
    by_id(pool, Some(org_id), ids).await
}

async fn by_id(pool: &PgPool, org_id: Option<&str>, ids: &[String]) -> Result<Vec<Job>, Error> {
    let mut query = QueryBuilder::new(SELECT);
    query.push(" where job_id = any(").push_bind(ids);
    query.push(") and (").push_bind(org_id);
    query
        .push("::text is null or org_id = ")
        .push_bind(org_id)
        .push(")");
    Ok(query.build_query_as().fetch_all(pool).await?)
}

/// Jobs of the organisation that were made from these, the newest first; at most so many of each.
pub async fn jobs_made_from(
    pool: &PgPool,
    org_id: &str,
    ids: &[String],
    each_max: i64,
) -> Result<Vec<Job>, Error> {
    let mut query = QueryBuilder::new("select made.* from unnest(");
    query.push_bind(ids);
    query.push("::text[]) older (id) cross join lateral (");
    query.push(SELECT);
    query.push(" where origin is not null and origin ->> 'job_id' = older.id and org_id = ");
    query.push_bind(org_id);
    query.push(" order by created_at desc, job_id desc limit ");
    query.push_bind(each_max).push(") made");
    Ok(query.build_query_as().fetch_all(pool).await?)
}

/// Those of these jobs that fit a filter, in no order; its page does not matter.
pub async fn matching_jobs(
    pool: &PgPool,
    filter: &JobFilter,
    ids: &[String],
) -> Result<Vec<Job>, Error> {
    let mut query = QueryBuilder::new(SELECT);
    conditions(&mut query, filter);
    query.push(" and job_id = any(").push_bind(ids).push(")");
    Ok(query
        .build_query_as()
        .persistent(false)
        .fetch_all(pool)
        .await?)
}
