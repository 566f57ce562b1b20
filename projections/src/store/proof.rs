//! What `verify` reads of `dag_jobs` and `dag_node_states`.

use serde_json::Value;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

/// The columns of a job that follow from its events.
#[derive(Debug, FromRow)]
pub(crate) struct JobProof {
    pub(crate) job_id: String,
    pub(crate) status: String,
    pub(crate) counts: Vec<i32>,
    pub(crate) paused: bool,
    pub(crate) owner_id: Option<String>,
    pub(crate) result: Option<Value>,
    pub(crate) degraded: bool,
}

/// The columns of a node that follow from the events of its job.
#[derive(Debug, FromRow)]
pub(crate) struct NodeProof {
    pub(crate) node_id: String,
    pub(crate) status: String,
    pub(crate) attempt: i32,
    pub(crate) retry_count: i32,
    pub(crate) epoch: i32,
    pub(crate) run_id: Option<Uuid>,
    pub(crate) output: Option<Value>,
    pub(crate) error_message: Option<String>,
    pub(crate) checkpoint: Option<Value>,
    pub(crate) branch: Option<i32>,
}

/// One job.
pub(crate) async fn job(pool: &PgPool, job_id: &str) -> sqlx::Result<Option<JobProof>> {
    sqlx::query_as(
        "select job_id, status::text as status, paused, owner_id, result, degraded,
                array[pending, ready, dispatched, running, completed, failed, skipped] as counts
         from dagapp.dag_jobs where job_id = $1",
    )
    .bind(job_id)
    .fetch_optional(pool)
    .await
}

/// Nodes of one job after `after`, by the text of their ids.
pub(crate) async fn nodes(
    pool: &PgPool,
    job_id: &str,
    after: &str,
    limit: i64,
) -> sqlx::Result<Vec<NodeProof>> {
    sqlx::query_as(
        "select node_id, status::text as status, attempt, retry_count, epoch, run_id, output, error_message,
                checkpoint, branch
         from dagapp.dag_node_states where job_id = $1 and node_id > $2
         order by node_id limit $3",
    )
    .bind(job_id)
    .bind(after)
    .bind(limit)
    .fetch_all(pool)
    .await
}

/// Jobs that no stream stands behind.
pub(crate) async fn jobs_without_stream(pool: &PgPool) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "select job_id from dagapp.dag_jobs j
         where not exists (select from dagapp.streams s where s.stream_id = 'job:' || j.job_id)
         limit 1000",
    )
    .fetch_all(pool)
    .await
}
