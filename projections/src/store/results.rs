//! `dag_task_results`.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::read_models::job::changes::ResultRow;

/// Makes rows; the last result of an attempt stands.
pub(crate) async fn upsert(db: &mut PgConnection, results: &[ResultRow]) -> sqlx::Result<()> {
    if results.is_empty() {
        return Ok(());
    }
    // One statement may not write a row twice.
    let last: HashMap<&str, &ResultRow> = results.iter().map(|r| (r.task_id.as_str(), r)).collect();
    let rows: Vec<&ResultRow> = last.into_values().collect();
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    sqlx::query(
        "insert into dag_task_results
             (task_id, job_id, node_id, attempt, status, output, error_message, failure, worker_id, run_id,
              metrics, reported_at, pos)
         select u.task_id, u.job_id, u.node_id, u.attempt, u.status::dagapp.node_status, u.output::jsonb,
                u.error_message, u.failure::jsonb, u.worker_id, u.run_id, u.metrics::jsonb, u.at, u.pos
         from unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[],
                     $8::text[], $9::text[], $10::uuid[], $11::text[], $12::timestamptz[], $13::bigint[])
              as u (task_id, job_id, node_id, attempt, status, output, error_message, failure, worker_id, run_id,
                    metrics, at, pos)
         on conflict (task_id) do update
         set status = excluded.status, output = excluded.output, error_message = excluded.error_message,
             failure = excluded.failure, worker_id = excluded.worker_id, run_id = excluded.run_id,
             metrics = excluded.metrics, reported_at = excluded.reported_at, pos = excluded.pos",
    )
    .bind(column!(|r| r.task_id.as_str()))
    .bind(column!(|r| r.job_id.as_str()))
    .bind(column!(|r| r.node_id.as_str()))
    .bind(column!(|r| r.attempt))
    .bind(column!(|r| r.status.word()))
    .bind(column!(|r| r.output.as_deref()))
    .bind(column!(|r| r.error_message.as_deref()))
    .bind(column!(|r| r.failure.as_deref()))
    .bind(column!(|r| r.worker.as_deref()))
    .bind(column!(|r| r.run))
    .bind(column!(|r| r.metrics.as_deref()))
    .bind(column!(|r| r.place.at))
    .bind(column!(|r| r.place.pos))
    .execute(db)
    .await?;
    Ok(())
}
