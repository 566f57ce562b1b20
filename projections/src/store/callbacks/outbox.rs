//! What the log says about `dagapp.callback_outbox`: one statement per kind of news.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::Error;

/// A callback that a request asks for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) callback_id: String,
    pub(crate) job_id: String,
    pub(crate) request_id: String,
    pub(crate) org_id: String,
    pub(crate) job_type: String,
    pub(crate) ordinal: i32,
    pub(crate) url: String,
    pub(crate) endpoint: String,
    pub(crate) secret_ref: String,
    pub(crate) retry_count: i32,
    pub(crate) timeout_seconds: i32,
    pub(crate) at: DateTime<Utc>,
}

/// The end of a job, or of a request that never had one.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) job_id: String,
    pub(crate) status: &'static str,
    pub(crate) error: Option<Value>,
    pub(crate) at: DateTime<Utc>,
    pub(crate) pos: i64,
}

/// A person wants a callback again.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) callback_id: String,
    pub(crate) round: i32,
}

/// Adds callbacks that wait for the end of their jobs. Read twice, the log adds nothing.
pub(crate) async fn ask(db: &mut PgConnection, rows: &[Asked]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    sqlx::query(
        "insert into dagapp.callback_outbox
             (callback_id, job_id, request_id, org_id, job_type, ordinal, url, endpoint, secret_ref,
              retry_count, timeout_seconds, created_at)
         select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[],
                              $7::text[], $8::text[], $9::text[], $10::int[], $11::int[], $12::timestamptz[])
         on conflict (callback_id) do nothing",
    )
    .bind(column!(|r| r.callback_id.as_str()))
    .bind(column!(|r| r.job_id.as_str()))
    .bind(column!(|r| r.request_id.as_str()))
    .bind(column!(|r| r.org_id.as_str()))
    .bind(column!(|r| r.job_type.as_str()))
    .bind(column!(|r| r.ordinal))
    .bind(column!(|r| r.url.as_str()))
    .bind(column!(|r| r.endpoint.as_str()))
    .bind(column!(|r| r.secret_ref.as_str()))
    .bind(column!(|r| r.retry_count))
    .bind(column!(|r| r.timeout_seconds))
    .bind(column!(|r| r.at))
    .execute(db)
    .await?;
    Ok(())
}

/// Makes the callbacks of ended jobs due; says how many there are.
pub(crate) async fn end(db: &mut PgConnection, rows: &[Ended]) -> Result<u64, Error> {
    if rows.is_empty() {
        return Ok(0);
    }
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    let errors = rows.iter().map(|r| r.error.as_ref());
    let errors = errors.map(|e| e.map(serde_json::to_string).transpose());
    let done = sqlx::query(
        "update dagapp.callback_outbox o
         set status = 'due', job_status = u.status, job_error = u.error::jsonb, ended_at = u.at,
             end_pos = u.pos, due_at = clock_timestamp()
         from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::bigint[])
              as u (job_id, status, error, at, pos)
         where o.job_id = u.job_id and o.status = 'waiting'",
    )
    .bind(column!(|r| r.job_id.as_str()))
    .bind(column!(|r| r.status))
    .bind(errors.collect::<Result<Vec<_>, _>>()?)
    .bind(column!(|r| r.at))
    .bind(column!(|r| r.pos))
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Makes callbacks due once more, whatever their sender is about to write about the round before.
pub(crate) async fn repeat(db: &mut PgConnection, rows: &[Again]) -> sqlx::Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let done = sqlx::query(
        "update dagapp.callback_outbox o
         set status = 'due', round = u.round, attempts = 0, due_at = clock_timestamp(), settled_at = null,
             claimed_by = null, claimed_until = null
         from (select id, max(round) as round from unnest($1::text[], $2::int[]) as r (id, round) group by id) u
         where o.callback_id = u.id and o.round < u.round",
    )
    .bind(rows.iter().map(|r| r.callback_id.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|r| r.round).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
