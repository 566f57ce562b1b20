//! Nodes of a job, and the results of their attempts.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use super::{Page, limit};
use crate::Error;

/// A row of `dag_node_states`.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct Node {
    pub job_id: String,
    pub node_id: String,
    pub parent: Option<String>,
    pub child_index: Option<i32>,
    pub ordinal: i32,
    pub stage: i32,
    pub kind: String,
    pub status: String,
    pub task_id: Option<String>,
    pub attempt: i32,
    pub retry_count: i32,
    pub epoch: i32,
    pub handler: Option<String>,
    pub queue: Option<String>,
    pub worker_id: Option<String>,
    pub run_id: Option<Uuid>,
    pub output: Option<Value>,
    pub external: Option<Value>,
    pub error_message: Option<String>,
    pub failure: Option<Value>,
    pub checkpoint: Option<Value>,
    pub branch: Option<i32>,
    pub skip_reason: Option<String>,
    pub skipped_by: Option<String>,
    pub ready_at: Option<DateTime<Utc>>,
    pub dispatched_at: Option<DateTime<Utc>>,
    pub started_at: Option<DateTime<Utc>>,
    pub completed_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
    /// The event with the parameters of the latest sending.
    pub dispatched_pos: Option<i64>,
}

/// How many children of a fan-out have each status, by the word for it.
pub type ChildCounts = BTreeMap<String, i64>;

/// A row of `dag_task_results`.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct TaskResult {
    pub task_id: String,
    pub job_id: String,
    pub node_id: String,
    pub attempt: i32,
    pub status: String,
    pub output: Option<Value>,
    pub error_message: Option<String>,
    pub failure: Option<Value>,
    pub worker_id: Option<String>,
    pub run_id: Option<Uuid>,
    pub metrics: Option<Value>,
    pub reported_at: DateTime<Utc>,
}

const NODE: &str =
    "select job_id, node_id, parent, child_index, ordinal, stage, kind, status::text as status, task_id, attempt,
            retry_count, epoch, handler, queue, worker_id, run_id, output, external, error_message, failure,
            checkpoint, branch, skip_reason, skipped_by, ready_at, dispatched_at, started_at, completed_at,
            updated_at, dispatched_pos
     from dagapp.dag_node_states";

/// Nodes that a workflow may have.
const NODES_MAX: i64 = 5_000;

/// The nodes of several jobs without the children of fan-outs, at most `each` of every job.
pub async fn nodes_of_jobs(pool: &PgPool, jobs: &[String], each: i64) -> Result<Vec<Node>, Error> {
    let rows = sqlx::query_as(
        "select n.* from unnest($1::text[]) as j (job_id) cross join lateral (
             select job_id, node_id, parent, child_index, ordinal, stage, kind, status::text as status, task_id,
                    attempt, retry_count, epoch, handler, queue, worker_id, run_id, output, external,
                    error_message, failure, checkpoint, branch, skip_reason, skipped_by, ready_at, dispatched_at,
                    started_at, completed_at, updated_at, dispatched_pos
             from dagapp.dag_node_states s
             where s.job_id = j.job_id and s.child_index is null
             order by ordinal limit $2
         ) n order by n.job_id, n.ordinal",
    );
    let each = each.clamp(1, NODES_MAX);
    Ok(rows.bind(jobs).bind(each).fetch_all(pool).await?)
}

/// Which children of a fan-out to list.
#[derive(Debug, Clone, Default)]
pub struct ChildFilter {
    pub job_id: String,
    pub parent: String,
    pub status: Option<String>,
    pub limit: i64,
    pub cursor: Option<String>,
}

/// The children of one fan-out, in their order.
pub async fn children(pool: &PgPool, filter: &ChildFilter) -> Result<Page<Node>, Error> {
    let limit = limit(filter.limit);
    let after = filter.cursor.as_deref().map(parse_place).transpose()?;
    let mut query = sqlx::QueryBuilder::new(NODE);
    query.push(" where job_id = ").push_bind(&filter.job_id);
    // The place in the order is indexed, the name of the parent is not.
    query.push(" and ordinal = (select ordinal from dagapp.dag_node_states where job_id = ");
    query.push_bind(&filter.job_id).push(" and node_id = ");
    query.push_bind(&filter.parent).push(") and child_index > ");
    query.push_bind(after.map_or(-1, |(_, child)| child));
    if let Some(status) = &filter.status {
        query.push(" and status = ").push_bind(status);
        query.push("::dagapp.node_status");
    }
    query.push(" order by ordinal, child_index limit ");
    query.push_bind(limit + 1);
    let rows = query.build_query_as().persistent(false).fetch_all(pool);
    Ok(Page::cut(rows.await?, limit, place))
}

/// One node, or one child.
pub async fn node(pool: &PgPool, job_id: &str, node_id: &str) -> Result<Option<Node>, Error> {
    let mut query = sqlx::QueryBuilder::new(NODE);
    query.push(" where job_id = ").push_bind(job_id);
    query.push(" and node_id = ").push_bind(node_id);
    Ok(query.build_query_as().fetch_optional(pool).await?)
}

pub(crate) fn place(node: &Node) -> String {
    format!("{}.{}", node.ordinal, node.child_index.unwrap_or(-1))
}

pub(crate) fn parse_place(cursor: &str) -> Result<(i32, i32), Error> {
    let place = cursor
        .split_once('.')
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    place.ok_or_else(|| Error::Cursor(cursor.chars().take(80).collect()))
}

/// The children of each fan-out, counted by status.
pub async fn fan_outs(pool: &PgPool, job_id: &str) -> Result<BTreeMap<String, ChildCounts>, Error> {
    let rows = fan_outs_of_jobs(pool, &[job_id.to_owned()]).await?;
    let mut counts: BTreeMap<String, ChildCounts> = BTreeMap::new();
    for ((_, parent), of_parent) in rows {
        counts.insert(parent, of_parent);
    }
    Ok(counts)
}

/// The same for several jobs, by job and fan-out.
pub async fn fan_outs_of_jobs(
    pool: &PgPool,
    jobs: &[String],
) -> Result<BTreeMap<(String, String), ChildCounts>, Error> {
    let rows: Vec<(String, String, String, i64)> = sqlx::query_as(
        "select job_id, parent, status::text, count(*) from dagapp.dag_node_states
         where job_id = any($1) and parent is not null group by job_id, parent, status",
    )
    .bind(jobs)
    .fetch_all(pool)
    .await?;
    let mut counts: BTreeMap<(String, String), ChildCounts> = BTreeMap::new();
    for (job, parent, status, count) in rows {
        let of_parent = counts.entry((job, parent)).or_default();
        of_parent.insert(status, count);
    }
    Ok(counts)
}

/// Which attempts of a job to list.
#[derive(Debug, Clone, Default)]
pub struct AttemptFilter {
    pub job_id: String,
    /// Those of one node or child; of all with nothing.
    pub node_id: Option<String>,
    /// Only those that failed.
    pub failed: bool,
    pub limit: i64,
    pub cursor: Option<String>,
}

impl TaskResult {
    /// Where the list of a job's attempts goes on after this row.
    #[must_use]
    pub fn cursor(&self) -> String {
        format!("{}.{}", self.attempt, self.node_id)
    }
}

/// Attempts of a job, or of one of its nodes, by node and attempt: those with a result, and those that run or
/// ended with their job.
pub async fn attempts(pool: &PgPool, filter: &AttemptFilter) -> Result<Page<TaskResult>, Error> {
    let limit = limit(filter.limit);
    let after = filter.cursor.as_deref().map(parse_attempt).transpose()?;
    let (number, name) = after.unzip();
    let rows = sqlx::query_as(
        "select * from (
             select task_id, job_id, node_id, attempt, status::text as status, null::jsonb as output,
                    error_message, failure, worker_id, run_id, null::jsonb as metrics, reported_at
             from dagapp.dag_task_results
             where job_id = $1 and ($2::text is null or node_id = $2)
             union all
             select n.task_id, n.job_id, n.node_id, n.attempt, n.status::text, null, n.error_message, n.failure,
                    n.worker_id, n.run_id, null, n.updated_at
             from dagapp.dag_node_states n
             where n.job_id = $1 and ($2::text is null or n.node_id = $2) and n.task_id is not null
               and not exists (select from dagapp.dag_task_results r where r.task_id = n.task_id)
         ) a
         where ($4::text is null or (node_id, attempt) > ($4, $5)) and (not $6 or failure is not null)
         order by node_id, attempt limit $3",
    )
    .bind(&filter.job_id)
    .bind(&filter.node_id)
    .bind(limit + 1)
    .bind(name)
    .bind(number)
    .bind(filter.failed)
    .fetch_all(pool);
    Ok(Page::cut(rows.await?, limit, TaskResult::cursor))
}

/// The results of one node up to a position, the first attempt first.
pub(crate) async fn results_upto(
    pool: &PgPool,
    job_id: &str,
    node_id: &str,
    pos: i64,
    each: i64,
) -> Result<Vec<TaskResult>, Error> {
    let rows = sqlx::query_as(
        "select task_id, job_id, node_id, attempt, status::text as status, output, error_message, failure,
                worker_id, run_id, metrics, reported_at
         from dagapp.dag_task_results
         where job_id = $1 and node_id = $2 and pos <= $3 order by attempt limit $4",
    );
    let rows = rows.bind(job_id).bind(node_id).bind(pos).bind(limit(each));
    Ok(rows.fetch_all(pool).await?)
}

fn parse_attempt(cursor: &str) -> Result<(i32, String), Error> {
    let place = cursor
        .split_once('.')
        .filter(|(_, name)| !name.contains('\0'));
    let place = place.and_then(|(number, name)| Some((number.parse().ok()?, name.to_owned())));
    place.ok_or_else(|| Error::Cursor(cursor.chars().take(80).collect()))
}

/// The attempts of several nodes, each given by job and node, with what they returned and measured.
pub async fn attempts_of_nodes(
    pool: &PgPool,
    nodes: &[(String, String)],
    each: i64,
) -> Result<Vec<TaskResult>, Error> {
    let (jobs, names): (Vec<&str>, Vec<&str>) = nodes
        .iter()
        .map(|(job, node)| (job.as_str(), node.as_str()))
        .unzip();
    let rows = sqlx::query_as(
        "select a.* from unnest($1::text[], $2::text[]) as w (job_id, node_id) cross join lateral (
             select task_id, job_id, node_id, attempt, status::text as status, output, error_message, failure,
                    worker_id, run_id, metrics, reported_at
             from dagapp.dag_task_results r
             where r.job_id = w.job_id and r.node_id = w.node_id
             union all
             select n.task_id, n.job_id, n.node_id, n.attempt, n.status::text, null, n.error_message, n.failure,
                    n.worker_id, n.run_id, null, n.updated_at
             from dagapp.dag_node_states n
             where n.job_id = w.job_id and n.node_id = w.node_id and n.task_id is not null
               and not exists (select from dagapp.dag_task_results r where r.task_id = n.task_id)
             order by attempt limit $3
         ) a order by a.job_id, a.node_id, a.attempt",
    );
    let rows = rows.bind(jobs).bind(names).bind(limit(each));
    Ok(rows.fetch_all(pool).await?)
}
