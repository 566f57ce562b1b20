//! `dag_node_states`, many rows by one statement: children of fan-outs, ends of jobs.

use domain::failure::{Failure, FailureClass};
use sqlx::PgConnection;

use crate::Error;
use crate::read_models::job::changes::{Ended, Expansion, Reuse};

/// Makes all children of the fan-outs.
pub(crate) async fn expand(db: &mut PgConnection, rows: &[Expansion]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    sqlx::query(
        "insert into dag_node_states
             (job_id, node_id, parent, child_index, ordinal, stage, kind, status, handler, queue, ready_at,
              updated_at, last_pos)
         select u.job_id, u.name || '__' || i::text, u.name, i, u.ordinal, u.stage, 'task', 'READY', u.handler,
                u.queue, u.at, u.at, u.pos
         from unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[],
                     $8::timestamptz[], $9::bigint[])
              as u (job_id, name, n, ordinal, stage, handler, queue, at, pos)
         cross join lateral generate_series(0, u.n - 1) as i",
    )
    .bind(column!(|r| r.job_id.as_str()))
    .bind(column!(|r| &*r.name))
    .bind(column!(|r| i32::try_from(r.count).unwrap_or(i32::MAX)))
    .bind(column!(|r| r.child.ordinal))
    .bind(column!(|r| r.child.stage))
    .bind(column!(|r| r.child.handler.as_deref()))
    .bind(column!(|r| r.child.queue.as_deref()))
    .bind(column!(|r| r.child.updated_at))
    .bind(column!(|r| r.child.last_pos))
    .execute(db)
    .await?;
    Ok(())
}

/// Completes children that an older job has done.
pub(crate) async fn reuse(db: &mut PgConnection, rows: &[Reuse]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    // Materialised, so that the outputs are parsed once and not per child.
    sqlx::query(
        "with u as materialized (
             select job_id, ordinal, first, last, outputs::jsonb as outputs, at, pos
             from unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::text[], $6::timestamptz[], $7::bigint[])
                  as u (job_id, ordinal, first, last, outputs, at, pos)
         )
         update dag_node_states n
         set status = 'COMPLETED', output = u.outputs -> (n.child_index - u.first),
             completed_at = u.at, updated_at = u.at, last_pos = u.pos
         from u
         where n.job_id = u.job_id and n.ordinal = u.ordinal
           and n.child_index >= u.first and n.child_index <= u.last",
    )
    .bind(column!(|r| r.job_id.as_str()))
    .bind(column!(|r| r.ordinal))
    .bind(column!(|r| i32::try_from(r.first).unwrap_or(i32::MAX)))
    .bind(column!(|r| i32::try_from(r.last).unwrap_or(i32::MAX)))
    .bind(column!(|r| r.outputs.as_deref()))
    .bind(column!(|r| r.place.at))
    .bind(column!(|r| r.place.pos))
    .execute(db)
    .await?;
    Ok(())
}

/// Ends all nodes that are open in ended jobs: what waited is skipped, what was at work is failed.
pub(crate) async fn end(db: &mut PgConnection, rows: &[Ended]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    let failures: Vec<Failure> =
        column!(|r| Failure::new(FailureClass::Cancelled, "job_ended", &r.reason));
    let details = failures.iter().map(serde_json::to_string);
    sqlx::query(
        "update dag_node_states n
         set status = case when n.status in ('PENDING', 'READY') then 'SKIPPED'
                           else 'FAILED' end::dagapp.node_status,
             skip_reason = case when n.status in ('PENDING', 'READY') then 'job_ended' else n.skip_reason end,
             error_message = case when n.status in ('PENDING', 'READY') then n.error_message else u.message end,
             failure = case when n.status in ('PENDING', 'READY') then n.failure else u.failure::jsonb end,
             completed_at = u.at, updated_at = u.at, last_pos = u.pos
         from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::bigint[])
              as u (job_id, message, failure, at, pos)
         where n.job_id = u.job_id and n.status in ('PENDING', 'READY', 'DISPATCHED', 'RUNNING')",
    )
    .bind(column!(|r| r.job_id.as_str()))
    .bind(failures.iter().map(|f| f.message.as_str()).collect::<Vec<_>>())
    .bind(details.collect::<Result<Vec<_>, _>>()?)
    .bind(column!(|r| r.place.at))
    .bind(column!(|r| r.place.pos))
    .execute(db)
    .await?;
    Ok(())
}
