//! `requests`.

use chrono::{DateTime, Utc};
use domain::request::Submission;
use sqlx::PgConnection;

use crate::Error;

/// A request that became known.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) submission: Box<Submission>,
    pub(crate) at: DateTime<Utc>,
    pub(crate) pos: i64,
}

/// What became of a request; the first outcome stands.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) request_id: String,
    pub(crate) status: &'static str,
    pub(crate) job_id: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) at: DateTime<Utc>,
    pub(crate) pos: i64,
}

/// Adds new requests.
pub(crate) async fn add(db: &mut PgConnection, rows: &[Submitted]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    macro_rules! json {
        ($field:ident) => {
            rows.iter()
                .map(|r| serde_json::to_string(&r.submission.$field))
                .collect::<Result<Vec<_>, _>>()?
        };
    }
    let version = |r: &Submitted| {
        r.submission
            .workflow_version
            .and_then(|v| i32::try_from(v).ok())
    };
    sqlx::query(
        "insert into requests
             (request_id, org_id, platform_id, asset_id, refs, workflow_id, workflow_version, inputs, priority,
              callbacks, body_hash, status, submitted_at, updated_at, last_pos)
         select u.request_id, u.org_id, u.platform_id, u.asset_id, u.refs::jsonb, u.workflow_id, u.version,
                u.inputs::jsonb, u.priority, u.callbacks::jsonb, u.body_hash, 'waiting', u.at, u.at, u.pos
         from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[],
                     $8::text[], $9::text[], $10::text[], $11::text[], $12::timestamptz[], $13::bigint[])
              as u (request_id, org_id, platform_id, asset_id, refs, workflow_id, version, inputs, priority,
                    callbacks, body_hash, at, pos)
         on conflict (request_id) do nothing",
    )
    .bind(column!(|r| r.submission.request_id.to_string()))
    .bind(column!(|r| r.submission.org_id.as_str()))
    .bind(column!(|r| r.submission.platform_id.as_str()))
    .bind(column!(|r| r.submission.asset_id.map(|id| id.to_string())))
    .bind(json!(refs))
    .bind(column!(|r| r.submission.workflow_id.as_str()))
    .bind(column!(version))
    .bind(json!(inputs))
    .bind(column!(|r| r.submission.priority.as_str()))
    .bind(json!(callbacks))
    .bind(column!(|r| r.submission.body_hash.as_str()))
    .bind(column!(|r| r.at))
    .bind(column!(|r| r.pos))
    .execute(db)
    .await?;
    Ok(())
}

/// Says what became of requests that wait; each request comes once.
pub(crate) async fn settle(db: &mut PgConnection, rows: &[&Settled]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    sqlx::query(
        "update requests r
         set status = u.status, job_id = u.job_id, reason = u.reason, updated_at = u.at, last_pos = u.pos
         from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::bigint[])
              as u (request_id, status, job_id, reason, at, pos)
         where r.request_id = u.request_id and r.status = 'waiting'",
    )
    .bind(column!(|r| r.request_id.as_str()))
    .bind(column!(|r| r.status))
    .bind(column!(|r| r.job_id.as_deref()))
    .bind(column!(|r| r.reason.as_deref()))
    .bind(column!(|r| r.at))
    .bind(column!(|r| r.pos))
    .execute(db)
    .await?;
    Ok(())
}
