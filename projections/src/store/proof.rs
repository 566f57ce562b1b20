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

/// Jobs whose current row of the history, with its end, is not what the job's own row says: the job, its status, and
/// that of the history.
pub(crate) async fn history(pool: &PgPool) -> sqlx::Result<Vec<(String, String, Option<String>)>> {
    sqlx::query_as(
        "select j.job_id, j.status::text || case when j.paused then ' (paused)' else '' end,
                h.status::text || case when h.paused then ' (paused)' else '' end
         from dagapp.dag_jobs j
         left join dagapp.dag_jobs_history h on h.job_id = j.job_id and h.to_pos is null
         where (h.status, h.paused, h.org_id, h.created_at)
               is distinct from (j.status, j.paused, j.org_id, j.created_at)
            or 1 <> (select count(*) from dagapp.dag_jobs_history f
                     where f.job_id = j.job_id
                       and f.from_pos not in (select g.to_pos from dagapp.dag_jobs_history g
                                              where g.job_id = j.job_id and g.to_pos is not null))
         limit 1000",
    )
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
