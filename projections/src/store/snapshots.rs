//! `dagapp.snapshots`: folded jobs that can be thrown away at any time.

use sqlx::{FromRow, PgPool};

/// A folded job as bytes.
#[derive(Debug, FromRow)]
pub(crate) struct Snapshot {
    pub(crate) version: i64,
    pub(crate) pos: i64,
    pub(crate) hash: Vec<u8>,
    pub(crate) state: Vec<u8>,
}

/// Snapshots of one stream, at most.
const OF_STREAM_MAX: i64 = 64;
/// Bytes of all snapshots; beyond it the oldest go.
const BYTES_MAX: i64 = 8 * 1024 * 1024 * 1024;
/// Rows that one round of tidying removes.
const REMOVED_MAX: i64 = 500;

/// The last one of a stream that is not behind a position.
pub(crate) async fn latest(
    pool: &PgPool,
    stream_id: &str,
    key: &str,
    upto: i64,
) -> sqlx::Result<Option<Snapshot>> {
    sqlx::query_as(
        "select version, pos, hash, state from dagapp.snapshots
         where stream_id = $1 and fold_key = $2 and pos <= $3
         order by version desc limit 1",
    )
    .bind(stream_id)
    .bind(key)
    .bind(upto)
    .fetch_optional(pool)
    .await
}

/// Keeps one, and thins those of its stream when they are too many: every second one goes.
pub(crate) async fn put(
    pool: &PgPool,
    stream_id: &str,
    key: &str,
    every: i64,
    snapshot: &Snapshot,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into dagapp.snapshots (stream_id, fold_key, version, pos, hash, state)
         values ($1, $2, $3, $4, $5, $6) on conflict do nothing",
    )
    .bind(stream_id)
    .bind(key)
    .bind(snapshot.version)
    .bind(snapshot.pos)
    .bind(&snapshot.hash)
    .bind(&snapshot.state)
    .execute(pool)
    .await?;
    sqlx::query(
        "delete from dagapp.snapshots
         where stream_id = $1 and fold_key = $2 and (version / $3) % 2 = 1
           and $4 < (select count(*) from dagapp.snapshots where stream_id = $1 and fold_key = $2)",
    )
    .bind(stream_id)
    .bind(key)
    .bind(every)
    .bind(OF_STREAM_MAX)
    .execute(pool)
    .await?;
    Ok(())
}

/// Open jobs that have grown by more than `every` events since their last snapshot.
pub(crate) async fn wanting(
    pool: &PgPool,
    key: &str,
    every: i64,
    limit: i64,
) -> sqlx::Result<Vec<String>> {
    // A job of few nodes has few events; what is missed is made when somebody looks.
    sqlx::query_scalar(
        "select s.stream_id
         from dagapp.open_jobs o join dagapp.streams s on s.stream_id = 'job:' || o.job_id
         where o.weight >= 200 and s.version >= $2
           and not exists (select from dagapp.snapshots n
                           where n.stream_id = s.stream_id and n.fold_key = $1 and n.version > s.version - $2)
         limit $3",
    )
    .bind(key)
    .bind(every)
    .bind(limit)
    .fetch_all(pool)
    .await
}

/// Removes what other code has made and nobody uses any more, and the oldest if all are too large together.
pub(crate) async fn tidy(pool: &PgPool, key: &str) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "delete from dagapp.snapshots s
         using (select stream_id, fold_key, version, fold_key <> $1 and made_at < clock_timestamp() - interval '1 day'
                           or sum(bytes) over (order by made_at desc, stream_id, version) > $2 as is_old
                from dagapp.snapshots) old
         where old.is_old and s.stream_id = old.stream_id and s.fold_key = old.fold_key and s.version = old.version
           and s.ctid in (select ctid from dagapp.snapshots order by made_at limit $3)",
    )
    .bind(key)
    .bind(BYTES_MAX)
    .bind(REMOVED_MAX)
    .execute(pool)
    .await?;
    Ok(done.rows_affected())
}

/// Some snapshots of this code at or before a position, to be checked.
pub(crate) async fn some(
    pool: &PgPool,
    key: &str,
    upto: i64,
    limit: i64,
) -> sqlx::Result<Vec<(String, i64, i64, Vec<u8>)>> {
    sqlx::query_as(
        "select stream_id, version, pos, hash from dagapp.snapshots
         where fold_key = $1 and pos <= $2
         order by md5(stream_id || version) limit $3",
    )
    .bind(key)
    .bind(upto)
    .bind(limit)
    .fetch_all(pool)
    .await
}
