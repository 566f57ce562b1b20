//! `dag_jobs`.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::job::JobStatus;
use sqlx::{FromRow, PgConnection};

use crate::read_models::job::row::{JobRow, Patch};

#[derive(FromRow)]
struct Loaded {
    job_id: String,
    workflow_id: String,
    workflow_version: i32,
    workflow_hash: String,
    status: String,
    request_id: String,
    org_id: String,
    priority: String,
    owner_id: Option<String>,
    owner_epoch: Option<i64>,
    paused: bool,
    total_stages: i32,
    counts: Vec<i32>,
    degraded: bool,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    completed_at: Option<DateTime<Utc>>,
    last_pos: i64,
}

/// The small columns of some jobs.
pub(crate) async fn load(db: &mut PgConnection, jobs: &[String]) -> sqlx::Result<Vec<JobRow>> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<Loaded> = sqlx::query_as(
        "select job_id, workflow_id, workflow_version, workflow_hash, status::text as status, request_id,
                org_id, priority, owner_id, owner_epoch, paused, total_stages,
                array[pending, ready, dispatched, running, completed, failed, skipped] as counts,
                degraded, created_at, updated_at, completed_at, last_pos
         from dag_jobs where job_id = any($1)",
    )
    .bind(jobs)
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(row).collect())
}

fn row(loaded: Loaded) -> JobRow {
    let mut counts = [0; 7];
    for (to, from) in counts.iter_mut().zip(loaded.counts) {
        *to = from;
    }
    JobRow {
        job_id: Arc::from(loaded.job_id),
        workflow_id: loaded.workflow_id,
        workflow_version: loaded.workflow_version,
        workflow_hash: loaded.workflow_hash,
        status: job_status(&loaded.status),
        input_params: None,
        request_id: loaded.request_id,
        org_id: loaded.org_id,
        priority: loaded.priority,
        origin: None,
        owner_id: loaded.owner_id,
        owner_epoch: loaded.owner_epoch,
        paused: loaded.paused,
        result: Patch::Keep,
        failure: Patch::Keep,
        total_stages: loaded.total_stages,
        counts,
        degraded: loaded.degraded,
        created_at: loaded.created_at,
        updated_at: loaded.updated_at,
        completed_at: loaded.completed_at,
        last_pos: loaded.last_pos,
    }
}

/// The status for a word of the database, which has no other words.
pub(crate) fn job_status(word: &str) -> JobStatus {
    let known = JobStatus::ALL.into_iter().find(|s| s.word() == word);
    known.unwrap_or(JobStatus::Pending)
}

/// Makes or changes rows; what a job began with never changes.
pub(crate) async fn upsert(db: &mut PgConnection, rows: &[&JobRow]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    let counts = |slot: usize| column!(|r| r.counts.get(slot).copied().unwrap_or_default());
    sqlx::query(
        "insert into dag_jobs as j
             (job_id, workflow_id, workflow_version, workflow_hash, status, input_params, request_id, org_id,
              priority, origin, owner_id, owner_epoch, paused, result, failure, total_stages,
              pending, ready, dispatched, running, completed, failed, skipped,
              degraded, created_at, updated_at, completed_at, last_pos)
         select u.job_id, u.workflow_id, u.version, u.hash, u.status::dagapp.job_status,
                coalesce(u.input::jsonb, '{}'), u.request_id, u.org_id, u.priority, u.origin::jsonb, u.owner_id,
                u.owner_epoch, u.paused, u.result::jsonb, u.failure::jsonb, u.stages,
                u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6,
                u.degraded, u.created_at, u.updated_at, u.completed_at, u.last_pos
         from unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[],
                     $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::bool[], $14::text[],
                     $15::text[], $16::int[], $17::int[], $18::int[], $19::int[], $20::int[], $21::int[],
                     $22::int[], $23::int[], $24::bool[], $25::timestamptz[], $26::timestamptz[],
                     $27::timestamptz[], $28::bigint[])
              as u (job_id, workflow_id, version, hash, status, input, request_id, org_id, priority, origin,
                    owner_id, owner_epoch, paused, result, failure, stages, c0, c1, c2, c3, c4, c5, c6,
                    degraded, created_at, updated_at, completed_at, last_pos)
         on conflict (job_id) do update
         set status = excluded.status, owner_id = excluded.owner_id, owner_epoch = excluded.owner_epoch,
             paused = excluded.paused, result = coalesce(excluded.result, j.result),
             failure = coalesce(excluded.failure, j.failure),
             pending = excluded.pending, ready = excluded.ready, dispatched = excluded.dispatched,
             running = excluded.running, completed = excluded.completed, failed = excluded.failed,
             skipped = excluded.skipped, degraded = excluded.degraded, updated_at = excluded.updated_at,
             completed_at = excluded.completed_at, last_pos = excluded.last_pos",
    )
    .bind(column!(|r| &*r.job_id))
    .bind(column!(|r| r.workflow_id.as_str()))
    .bind(column!(|r| r.workflow_version))
    .bind(column!(|r| r.workflow_hash.as_str()))
    .bind(column!(|r| r.status.word()))
    .bind(column!(|r| r.input_params.as_deref()))
    .bind(column!(|r| r.request_id.as_str()))
    .bind(column!(|r| r.org_id.as_str()))
    .bind(column!(|r| r.priority.as_str()))
    .bind(column!(|r| r.origin.as_deref()))
    .bind(column!(|r| r.owner_id.as_deref()))
    .bind(column!(|r| r.owner_epoch))
    .bind(column!(|r| r.paused))
    .bind(column!(|r| r.result.value()))
    .bind(column!(|r| r.failure.value()))
    .bind(column!(|r| r.total_stages))
    .bind(counts(0))
    .bind(counts(1))
    .bind(counts(2))
    .bind(counts(3))
    .bind(counts(4))
    .bind(counts(5))
    .bind(counts(6))
    .bind(column!(|r| r.degraded))
    .bind(column!(|r| r.created_at))
    .bind(column!(|r| r.updated_at))
    .bind(column!(|r| r.completed_at))
    .bind(column!(|r| r.last_pos))
    .execute(db)
    .await?;
    Ok(())
}
