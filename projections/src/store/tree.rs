//! The tree over the leaves and its signed checkpoints: `dagapp.log_subtrees`, `dagapp.log_checkpoints`.

use chrono::{DateTime, Utc};
use domain::event::Hash;
use sqlx::{Executor, FromRow, PgPool, Postgres};
use uuid::Uuid;

/// Subtrees of every so many levels are kept: 256 leaves, 65,536 and so on.
pub(crate) const LEVELS: u32 = 8;
/// How many of the checkpoints stay that were signed because of the time alone.
const PASSING_MAX: i64 = 1_000;

/// A subtree that is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subtree {
    pub(crate) level: u32,
    pub(crate) nth: u64,
    pub(crate) hash: Hash,
}

/// The last batch up to some position.
#[derive(Debug, FromRow)]
pub(crate) struct BatchEnd {
    pub(crate) last_pos: i64,
    pub(crate) hash: Vec<u8>,
    pub(crate) recorded_at: DateTime<Utc>,
}

/// A row of `log_checkpoints`.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct Note {
    pub(crate) size: i64,
    pub(crate) note: String,
}

/// The last position, and which history it is of.
pub(crate) async fn head<'c>(
    db: impl Executor<'c, Database = Postgres>,
) -> sqlx::Result<(i64, Uuid)> {
    sqlx::query_as("select pos, incarnation from dagapp.log_head")
        .fetch_one(db)
        .await
}

/// The leaves of positions `from` to `upto`, in order; of archived ones, those at the edge.
pub(crate) async fn leaves<'c>(
    db: impl Executor<'c, Database = Postgres>,
    from: i64,
    upto: i64,
) -> sqlx::Result<Vec<(i64, Vec<u8>)>> {
    sqlx::query_as(
        "select pos, leaf from dagapp.events where pos >= $1 and pos <= $2
         union
         select pos, leaf from dagapp.archive_edges where pos >= $1 and pos <= $2
         order by pos",
    )
    .bind(from)
    .bind(upto)
    .fetch_all(db)
    .await
}

/// The last batch that ends after `after` and not after `upto`; if none does, the first one after `after`.
pub(crate) async fn batch_end(
    pool: &PgPool,
    after: i64,
    upto: i64,
) -> sqlx::Result<Option<BatchEnd>> {
    let last = sqlx::query_as(
        "select last_pos, hash, recorded_at from dagapp.log_batches
         where first_pos > $1 and first_pos <= $2 and last_pos <= $2
         order by first_pos desc limit 1",
    )
    .bind(after)
    .bind(upto)
    .fetch_optional(pool)
    .await?;
    if last.is_some() {
        return Ok(last);
    }
    sqlx::query_as(
        "select last_pos, hash, recorded_at from dagapp.log_batches
         where first_pos > $1 order by first_pos limit 1",
    )
    .bind(after)
    .fetch_optional(pool)
    .await
}

/// Neighbouring subtrees of one level, in order; those that are there.
pub(crate) async fn subtrees<'c>(
    db: impl Executor<'c, Database = Postgres>,
    level: u32,
    first: i64,
    last: i64,
) -> sqlx::Result<Vec<(i64, Vec<u8>)>> {
    sqlx::query_as(
        "select nth, hash from dagapp.log_subtrees where level = $1 and nth >= $2 and nth <= $3 order by nth",
    )
    .bind(i16::try_from(level).unwrap_or(i16::MAX))
    .bind(first)
    .bind(last)
    .fetch_all(db)
    .await
}

/// Keeps subtrees.
pub(crate) async fn keep_subtrees<'c>(
    db: impl Executor<'c, Database = Postgres>,
    subtrees: &[Subtree],
) -> sqlx::Result<()> {
    let level = |s: &Subtree| i16::try_from(s.level).unwrap_or(i16::MAX);
    let nth = |s: &Subtree| i64::try_from(s.nth).unwrap_or(i64::MAX);
    sqlx::query(
        "insert into dagapp.log_subtrees (level, nth, hash)
         select * from unnest($1::smallint[], $2::bigint[], $3::bytea[])
         on conflict (level, nth) do update set hash = excluded.hash",
    )
    .bind(subtrees.iter().map(level).collect::<Vec<_>>())
    .bind(subtrees.iter().map(nth).collect::<Vec<_>>())
    .bind(
        subtrees
            .iter()
            .map(|s| s.hash.as_slice())
            .collect::<Vec<_>>(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Keeps a checkpoint, and lets go of old ones that were signed because of the time alone.
pub(crate) async fn keep_checkpoint(
    db: &mut sqlx::PgConnection,
    size: i64,
    note: &str,
    key_id: &str,
    kept: bool,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into dagapp.log_checkpoints (size, note, key_id, kept) values ($1, $2, $3, $4)
         on conflict (size) do update set note = excluded.note, key_id = excluded.key_id",
    )
    .bind(size)
    .bind(note)
    .bind(key_id)
    .bind(kept)
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "delete from dagapp.log_checkpoints where not kept and size <=
            (select size from dagapp.log_checkpoints where not kept order by size desc offset $1 limit 1)",
    )
    .bind(PASSING_MAX)
    .execute(db)
    .await?;
    Ok(())
}

/// Checkpoints of sizes `from` to `upto`, in order.
pub(crate) async fn checkpoints<'c>(
    db: impl Executor<'c, Database = Postgres>,
    from: i64,
    upto: i64,
) -> sqlx::Result<Vec<Note>> {
    sqlx::query_as(
        "select size, note from dagapp.log_checkpoints where size >= $1 and size <= $2 order by size",
    )
    .bind(from)
    .bind(upto)
    .fetch_all(db)
    .await
}

/// The newest checkpoint of size `upto` or less.
pub(crate) async fn newest<'c>(
    db: impl Executor<'c, Database = Postgres>,
    upto: i64,
) -> sqlx::Result<Option<Note>> {
    sqlx::query_as(
        "select size, note from dagapp.log_checkpoints where size <= $1 order by size desc limit 1",
    )
    .bind(upto)
    .fetch_optional(db)
    .await
}
