//! What time travel reads of the log: moments, the events of one job, and single events.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgPool};

use super::log::Entry;

/// Payload bytes of one read, at most; a single larger event still comes alone.
const READ_BYTES_MAX: i64 = 8 * 1024 * 1024;

/// A position with the time at which it was recorded.
#[derive(Debug, Clone, Copy, FromRow)]
pub(crate) struct Recorded {
    pub(crate) pos: i64,
    pub(crate) recorded_at: DateTime<Utc>,
}

/// When a position was recorded.
pub(crate) async fn at_pos(pool: &PgPool, pos: i64) -> sqlx::Result<Option<Recorded>> {
    sqlx::query_as(
        "with gate as materialized (select dagapp.live($1 - 1) + 1 as at)
         select e.pos, e.recorded_at
         from gate cross join lateral (select * from dagapp.events where pos = gate.at offset 0) e",
    )
    .bind(pos)
    .fetch_optional(pool)
    .await
}

/// The last position that was recorded at a time or before it.
pub(crate) async fn at_time(pool: &PgPool, at: DateTime<Utc>) -> sqlx::Result<Option<Recorded>> {
    sqlx::query_as(
        "select dagapp.live(last_pos - 1) + 1 as pos, recorded_at
         from (select last_pos, recorded_at from dagapp.log_batches
               where recorded_at <= $1 order by recorded_at desc, first_pos desc limit 1) b",
    )
    .bind(at)
    .fetch_optional(pool)
    .await
}

/// The clock of the database, by which the log is recorded.
pub(crate) async fn now(pool: &PgPool) -> sqlx::Result<DateTime<Utc>> {
    sqlx::query_scalar("select clock_timestamp()")
        .fetch_one(pool)
        .await
}

/// Where a stream begins, and whose it is: as its first event says, or the read models when it is archived, so that a
/// stranger learns nothing.
pub(crate) async fn beginning(
    pool: &PgPool,
    stream_id: &str,
) -> sqlx::Result<Option<(i64, String)>> {
    sqlx::query_as(
        "select first_pos, org_id
         from (select s.first_pos,
                      coalesce((select e.org_id from dagapp.events e where e.pos = s.first_pos),
                               (select j.org_id from dagapp.dag_jobs j where 'job:' || j.job_id = s.stream_id),
                               (select a.org_id from dagapp.assets a where 'asset:' || a.asset_id = s.stream_id)) as org_id
               from dagapp.streams s where s.stream_id = $1) found
         where org_id is not null",
    )
    .bind(stream_id)
    .fetch_optional(pool)
    .await
}

/// The next events of one stream after a version, which stands at `after`, up to position `upto`.
pub(crate) async fn events(
    pool: &PgPool,
    stream_id: &str,
    (version, after): (i64, i64),
    upto: i64,
    limit: i64,
) -> sqlx::Result<Vec<Entry>> {
    sqlx::query_as(
        "with gate as materialized (select dagapp.live_stream($1, $2, $4) as base, $3 as after, $4 as upto)
         select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at
         from (select few.*, sum(octet_length(payload)) over (order by version) as total,
                      row_number() over (order by version) as nth
               from gate cross join lateral (
                     select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at
                     from dagapp.events
                     where stream_id = $1 and version > $2 and pos > gate.after and pos <= gate.upto
                       and pos >= gate.base
                     order by version limit $5) few) e
         where total <= $6 or nth = 1
         order by version",
    )
    .bind(stream_id)
    .bind(version)
    .bind(after)
    .bind(upto)
    .bind(limit)
    .bind(READ_BYTES_MAX)
    .fetch_all(pool)
    .await
}

/// The last position of a stream that is not behind another.
pub(crate) async fn last_of(
    pool: &PgPool,
    streams: &[String],
    upto: i64,
) -> sqlx::Result<Vec<(String, i64)>> {
    sqlx::query_as(
        "select w.stream_id, e.pos from unnest($1::text[]) as w (stream_id)
         cross join lateral (select pos from dagapp.events e
                             where e.stream_id = w.stream_id and e.pos <= $2
                             order by version desc limit 1) e",
    )
    .bind(streams)
    .bind(upto)
    .fetch_all(pool)
    .await
}

/// The events at these positions.
pub(crate) async fn at(pool: &PgPool, positions: &[i64]) -> sqlx::Result<Vec<Entry>> {
    sqlx::query_as(
        "with gate as materialized (select $1 as at, dagapp.live((select min(p) - 1 from unnest($1) as p)) as after)
         select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at
         from gate cross join lateral (
             select * from dagapp.events where pos = any(gate.at) and pos > gate.after offset 0) e",
    )
    .bind(positions)
    .fetch_all(pool)
    .await
}
