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

/// Nodes in topological order, each fan-out followed by its children; without them on request.
pub async fn nodes(
    pool: &PgPool,
    job_id: &str,
    with_children: bool,
    wanted: i64,
    cursor: Option<&str>,
) -> Result<Page<Node>, Error> {
    let limit = limit(wanted);
    let after = cursor.map(parse_place).transpose()?;
    let rows = sqlx::query_as(
        "select node_id, parent, child_index, ordinal, stage, kind, status::text as status, task_id, attempt,
                retry_count, epoch, handler, queue, worker_id, run_id, output, external, error_message, failure,
                checkpoint, branch, skip_reason, skipped_by, ready_at, dispatched_at, started_at, completed_at,
                updated_at
         from dagapp.dag_node_states
         where job_id = $1 and ($2 or child_index is null)
           and ($3::int is null or ordinal > $3 or (ordinal = $3 and child_index > $4))
         order by ordinal, child_index nulls first limit $5",
    )
    .persistent(false)
    .bind(job_id)
    .bind(with_children)
    .bind(after.map(|(ordinal, _)| ordinal))
    .bind(after.map(|(_, child)| child))
    .bind(limit + 1)
    .fetch_all(pool)
    .await?;
    Ok(Page::cut(rows, limit, |node: &Node| {
        format!("{}.{}", node.ordinal, node.child_index.unwrap_or(-1))
    }))
}

fn parse_place(cursor: &str) -> Result<(i32, i32), Error> {
    let place = cursor
        .split_once('.')
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    place.ok_or_else(|| Error::Cursor(cursor.chars().take(80).collect()))
}

/// The children of each fan-out, counted by status.
pub async fn fan_outs(pool: &PgPool, job_id: &str) -> Result<BTreeMap<String, ChildCounts>, Error> {
    let rows: Vec<(String, String, i64)> = sqlx::query_as(
        "select parent, status::text, count(*) from dagapp.dag_node_states
         where job_id = $1 and parent is not null group by parent, status",
    )
    .bind(job_id)
    .fetch_all(pool)
    .await?;
    let mut counts: BTreeMap<String, ChildCounts> = BTreeMap::new();
    for (parent, status, count) in rows {
        counts.entry(parent).or_default().insert(status, count);
    }
    Ok(counts)
}

/// Whether a job has a node, or a child, of this name.
pub async fn has_node(pool: &PgPool, job_id: &str, node_id: &str) -> Result<bool, Error> {
    let found = sqlx::query_scalar(
        "select exists (select from dagapp.dag_node_states where job_id = $1 and node_id = $2)",
    );
    Ok(found.bind(job_id).bind(node_id).fetch_one(pool).await?)
}

/// Attempts of a job, or of one of its nodes, by node and attempt: those with a result, and those that run or
/// ended with their job.
pub async fn attempts(
    pool: &PgPool,
    job_id: &str,
    node_id: Option<&str>,
    wanted: i64,
) -> Result<Vec<TaskResult>, Error> {
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
         ) a order by node_id, attempt limit $3",
    )
    .bind(job_id)
    .bind(node_id)
    .bind(limit(wanted))
    .fetch_all(pool)
    .await?;
    Ok(rows)
}
