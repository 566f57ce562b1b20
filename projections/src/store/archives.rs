//! What is archived: `dagapp.archives` and what stands beside it.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgConnection, PgPool};

use super::audit::BatchRow;

/// A range of positions that was moved to the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, FromRow)]
pub struct Archive {
    pub first_pos: i64,
    pub last_pos: i64,
    pub store: String,
    pub manifest: String,
    pub manifest_sha256: String,
    /// The table that it was.
    pub partition: String,
    pub bytes: i64,
    pub archived_at: DateTime<Utc>,
    pub archived_by: String,
    pub dropped_at: Option<DateTime<Utc>>,
    pub restored_at: Option<DateTime<Utc>>,
}

/// All ranges that were ever archived, in order.
pub(crate) async fn all(pool: &PgPool) -> sqlx::Result<Vec<Archive>> {
    sqlx::query_as(
        "select first_pos, last_pos, store, manifest, manifest_sha256, partition, bytes, archived_at, archived_by,
                dropped_at, restored_at
         from dagapp.archives order by first_pos",
    )
    .fetch_all(pool)
    .await
}

/// The last position that is archived; 0 if none is.
pub(crate) async fn floor(pool: &PgPool) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "select coalesce(max(last_pos), 0) from dagapp.archives where restored_at is null",
    )
    .fetch_one(pool)
    .await
}

/// Refuses if anything is archived.
pub(crate) async fn none(pool: &PgPool) -> sqlx::Result<()> {
    sqlx::query("select dagapp.live(0)").execute(pool).await?;
    Ok(())
}

/// The last batch that ends at a position or before it.
pub(crate) async fn batch_upto(pool: &PgPool, pos: i64) -> sqlx::Result<Option<BatchRow>> {
    sqlx::query_as(
        "select first_pos, last_pos, recorded_at, hash from dagapp.log_batches
         where first_pos <= $1 and last_pos <= $1 order by first_pos desc limit 1",
    )
    .bind(pos)
    .fetch_optional(pool)
    .await
}

/// The batch that has a position and the next one.
pub(crate) async fn batch_over(pool: &PgPool, pos: i64) -> sqlx::Result<Option<BatchRow>> {
    sqlx::query_as(
        "select first_pos, last_pos, recorded_at, hash
         from (select * from dagapp.log_batches where first_pos <= $1 order by first_pos desc limit 1) b
         where last_pos > $1",
    )
    .bind(pos)
    .fetch_optional(pool)
    .await
}

/// The last position that was recorded at a time or before it.
pub(crate) async fn pos_at(pool: &PgPool, at: DateTime<Utc>) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "select coalesce((select last_pos from dagapp.log_batches where recorded_at <= $1
                          order by recorded_at desc, first_pos desc limit 1), 0)",
    )
    .bind(at)
    .fetch_one(pool)
    .await
}

/// A stream that stands in the way of archiving a range.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub(crate) struct Standing {
    pub(crate) stream_id: String,
    /// `open`, `late`, or `carry` if it only has to be carried.
    pub(crate) why: String,
    /// How many there are for this reason.
    pub(crate) total: i64,
}

/// The streams of a range that have not ended at `cutoff`, and were not carried behind the range; some of each reason.
pub(crate) async fn standing(
    db: &mut PgConnection,
    (first, last): (i64, i64),
    cutoff: i64,
    carried: &[&str],
    limit: i64,
) -> sqlx::Result<Vec<Standing>> {
    sqlx::query_as(
        "with part as materialized (
             select stream_id from dagapp.events where pos >= $1 and pos <= $2 group by stream_id
         ), judged as (
             select p.stream_id, case
                 when s.closed or (e.type = any($4) and not exists (
                          select from dagapp.open_jobs o where 'request:' || o.request_id = p.stream_id))
                     then case when e.pos > $3 then 'late' end
                 when split_part(p.stream_id, ':', 1) = any($6)
                     then case when not exists (
                          select from dagapp.events c
                          where c.stream_id = p.stream_id and c.pos > $2 and c.type = any($5)) then 'carry' end
                 else 'open'
             end as why
             from part p
             join dagapp.streams s on s.stream_id = p.stream_id
             left join lateral (select e.pos, e.type from dagapp.events e
                                where e.stream_id = s.stream_id and e.version = s.version and e.pos >= $1) e on true
         ), counted as (
             select stream_id, why, count(*) over (partition by why) as total,
                    row_number() over (partition by why order by stream_id) as nth
             from judged where why is not null
         )
         select stream_id, why, total from counted where nth <= $7 order by why, stream_id",
    )
    .bind(first)
    .bind(last)
    .bind(cutoff)
    .bind(domain::event::ENDS)
    .bind(domain::event::CARRIES)
    .bind(carried)
    .bind(limit)
    .fetch_all(db)
    .await
}

/// Whoever reads the log and has not come to a position yet: its name, and where it is.
pub(crate) async fn behind(pool: &PgPool, pos: i64) -> sqlx::Result<Vec<(String, i64)>> {
    sqlx::query_as(
        "select name, pos from dagapp.projection_checkpoints where pos < $1
         union all
         select 'rebuild of ' || name, pos from dagapp.rebuilds
         order by 1",
    )
    .bind(pos)
    .fetch_all(pool)
    .await
}

/// Says that a range is archived, with what must stay behind: leaves of what goes on behind it, and where streams that
/// live on can be read from.
pub(crate) async fn record(tx: &mut PgConnection, archive: &Archive) -> sqlx::Result<()> {
    sqlx::query(
        "insert into dagapp.archive_edges (pos, leaf)
         select e.pos, e.leaf from dagapp.events e
         cross join (select * from dagapp.log_batches where first_pos <= $1 order by first_pos desc limit 1) b
         where e.pos >= least($1 - $1 % 256 + 1, case when b.last_pos > $1 then b.first_pos else $1 + 1 end)
           and e.pos <= case when b.last_pos > $1 then b.last_pos else $1 end
         on conflict (pos) do nothing",
    )
    .bind(archive.last_pos)
    .execute(&mut *tx)
    .await?;
    sqlx::query(
        "insert into dagapp.carried_streams (stream_id, version, pos)
         select p.stream_id, c.version, c.pos
         from (select stream_id from dagapp.events where pos >= $1 and pos <= $2
                 and split_part(stream_id, ':', 1) = any($4) group by stream_id) p
         cross join lateral (
             select e.version, e.pos from dagapp.events e
             where e.stream_id = p.stream_id and e.pos > $2 and e.type = any($3)
               -- What is carried in one commit belongs together.
               and e.recorded_at = (select max(l.recorded_at) from dagapp.events l
                                    where l.stream_id = p.stream_id and l.pos > $2 and l.type = any($3))
             order by e.version limit 1) c
         on conflict (stream_id) do update set version = excluded.version, pos = excluded.pos",
    )
    .bind(archive.first_pos)
    .bind(archive.last_pos)
    .bind(domain::event::CARRIES)
    .bind(crate::archive::CARRIED)
    .execute(&mut *tx)
    .await?;
    sqlx::query(
        "insert into dagapp.archives (first_pos, last_pos, store, manifest, manifest_sha256, partition, bytes)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (first_pos) do update
             set last_pos = excluded.last_pos, store = excluded.store, manifest = excluded.manifest,
                 manifest_sha256 = excluded.manifest_sha256, partition = excluded.partition,
                 bytes = excluded.bytes, archived_at = clock_timestamp(), archived_by = session_user,
                 dropped_at = null, restored_at = null",
    )
    .bind(archive.first_pos)
    .bind(archive.last_pos)
    .bind(&archive.store)
    .bind(&archive.manifest)
    .bind(&archive.manifest_sha256)
    .bind(&archive.partition)
    .bind(archive.bytes)
    .execute(tx)
    .await?;
    Ok(())
}

/// Says that the table of a range is gone.
pub(crate) async fn dropped(tx: &mut PgConnection, first_pos: i64) -> sqlx::Result<()> {
    sqlx::query("update dagapp.archives set dropped_at = clock_timestamp() where first_pos = $1")
        .bind(first_pos)
        .execute(tx)
        .await?;
    Ok(())
}

/// Says that a range is read here again.
pub(crate) async fn restored(tx: &mut PgConnection, first_pos: i64) -> sqlx::Result<()> {
    sqlx::query("update dagapp.archives set restored_at = clock_timestamp() where first_pos = $1")
        .bind(first_pos)
        .execute(tx)
        .await?;
    Ok(())
}
