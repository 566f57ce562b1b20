//! `dag_jobs_history`: what lists of jobs showed, and from when to when.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::job::JobStatus;
use sqlx::PgConnection;

use super::copy::Rows;
use crate::read_models::job::row::{JobRow, Place};

/// A job from one change of its status on.
#[derive(Debug, Clone)]
pub(crate) struct HistoryRow {
    job_id: String,
    org_id: String,
    workflow_id: String,
    request_id: String,
    status: JobStatus,
    paused: bool,
    counts: [i32; 7],
    created_at: DateTime<Utc>,
    from: Place,
    /// The job begins with it.
    is_first: bool,
}

impl HistoryRow {
    pub(crate) fn of(row: &JobRow, from: Place, is_first: bool) -> Self {
        Self {
            job_id: row.job_id.to_string(),
            org_id: row.org_id.clone(),
            workflow_id: row.workflow_id.clone(),
            request_id: row.request_id.clone(),
            status: row.status,
            paused: row.paused,
            counts: row.counts,
            created_at: row.created_at,
            from,
            is_first,
        }
    }
}

const COPY: &str = "copy dag_jobs_history (job_id, from_pos, to_pos, from_at, to_at, org_id, workflow_id, request_id, status,
         paused, pending, ready, dispatched, running, completed, failed, skipped, created_at)
     from stdin (format binary)";

/// All rows of one job for a table that is filled from nothing, in the order of their positions.
pub(crate) fn fill(rows: &mut Rows, history: &[HistoryRow]) {
    let ends = history.iter().skip(1).map(|next| Some(next.from));
    for (row, end) in history.iter().zip(ends.chain([None])) {
        rows.row(18)
            .text(&row.job_id)
            .bigint(row.from.pos)
            .maybe_bigint(end.map(|end| end.pos))
            .time(row.from.at)
            .maybe_time(end.map(|end| end.at))
            .text(&row.org_id)
            .text(&row.workflow_id)
            .text(&row.request_id)
            .text(row.status.word())
            .bool(row.paused);
        for count in row.counts {
            rows.int(count);
        }
        rows.time(row.created_at);
    }
}

/// Writes what was filled.
pub(crate) async fn copy(db: &mut PgConnection, rows: &mut Rows) -> sqlx::Result<()> {
    rows.write(db, COPY).await
}

/// Adds rows, in the order of their positions; each ends the one before it.
pub(crate) async fn add(db: &mut PgConnection, rows: &[HistoryRow]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut next: HashMap<&str, &HistoryRow> = HashMap::new();
    let mut ends: Vec<Option<Place>> = vec![None; rows.len()];
    for (row, end) in rows.iter().zip(&mut ends).rev() {
        *end = next.insert(&row.job_id, row).map(|row| row.from);
    }
    // What a batch begins with ends the current row, unless the job begins too.
    let old = next.into_values().filter(|row| !row.is_first);
    let old: Vec<(&str, Place)> = old.map(|row| (row.job_id.as_str(), row.from)).collect();
    close(db, &old).await?;
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    let counts = |slot: usize| column!(|r| r.counts.get(slot).copied().unwrap_or_default());
    sqlx::query(
        "insert into dag_jobs_history
             (job_id, from_pos, to_pos, from_at, to_at, org_id, workflow_id, request_id, status, paused,
              pending, ready, dispatched, running, completed, failed, skipped, created_at)
         select u.job_id, u.from_pos, u.to_pos, u.from_at, u.to_at, u.org_id, u.workflow_id, u.request_id,
                u.status::dagapp.job_status, u.paused, u.c0, u.c1, u.c2, u.c3, u.c4, u.c5, u.c6, u.created_at
         from unnest($1::text[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::text[],
                     $7::text[], $8::text[], $9::text[], $10::bool[], $11::int[], $12::int[], $13::int[],
                     $14::int[], $15::int[], $16::int[], $17::int[], $18::timestamptz[])
              as u (job_id, from_pos, to_pos, from_at, to_at, org_id, workflow_id, request_id, status, paused,
                    c0, c1, c2, c3, c4, c5, c6, created_at)",
    )
    .bind(column!(|r| r.job_id.as_str()))
    .bind(column!(|r| r.from.pos))
    .bind(ends.iter().map(|end| end.map(|p| p.pos)).collect::<Vec<_>>())
    .bind(column!(|r| r.from.at))
    .bind(ends.iter().map(|end| end.map(|p| p.at)).collect::<Vec<_>>())
    .bind(column!(|r| r.org_id.as_str()))
    .bind(column!(|r| r.workflow_id.as_str()))
    .bind(column!(|r| r.request_id.as_str()))
    .bind(column!(|r| r.status.word()))
    .bind(column!(|r| r.paused))
    .bind(counts(0))
    .bind(counts(1))
    .bind(counts(2))
    .bind(counts(3))
    .bind(counts(4))
    .bind(counts(5))
    .bind(counts(6))
    .bind(column!(|r| r.created_at))
    .execute(db)
    .await?;
    Ok(())
}

/// Ends the current rows of jobs.
async fn close(db: &mut PgConnection, jobs: &[(&str, Place)]) -> sqlx::Result<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "update dag_jobs_history h set to_pos = u.pos, to_at = u.at
         from unnest($1::text[], $2::bigint[], $3::timestamptz[]) as u (job_id, pos, at)
         where h.job_id = u.job_id and h.to_pos is null",
    )
    .bind(jobs.iter().map(|(job, _)| *job).collect::<Vec<_>>())
    .bind(jobs.iter().map(|(_, place)| place.pos).collect::<Vec<_>>())
    .bind(jobs.iter().map(|(_, place)| place.at).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}
