//! What `audit` reads of the log: everything, in short statements, and nothing is trusted.

use chrono::{DateTime, Utc};
use domain::event::{Hash, Leaf, leaf_hash};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use sqlx::postgres::PgRow;
use sqlx::{Executor, FromRow, PgConnection, PgPool, Postgres, Row as _};
use uuid::Uuid;

/// The end of the log, as one statement sees it.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct Head {
    pub(crate) pos: i64,
    pub(crate) hash: Vec<u8>,
    pub(crate) recorded_at: Option<DateTime<Utc>>,
    pub(crate) incarnation: Uuid,
    /// An event, or a batch, that is not between the beginning and the end.
    pub(crate) stray: Option<i64>,
    /// How many streams there are, and of how many events the newest checkpoint is.
    pub(crate) streams: i64,
    /// Those of them that begin behind what is archived; and how far that goes.
    pub(crate) live_streams: i64,
    pub(crate) floor: i64,
    pub(crate) signed: Option<i64>,
}

pub(crate) async fn head(pool: &PgPool) -> sqlx::Result<Head> {
    sqlx::query_as(
        "select h.pos, h.hash, nullif(h.recorded_at, '-infinity') as recorded_at, h.incarnation,
                least((select min(e.pos) from dagapp.events e where e.pos > h.pos),
                      (select min(e.pos) from dagapp.events e where e.pos < 1),
                      (select min(b.last_pos) from dagapp.log_batches b
                       where b.first_pos > h.pos or b.first_pos < 1)) as stray,
                (select count(*) from dagapp.streams) as streams,
                (select count(*) from dagapp.streams where first_pos > f.floor) as live_streams,
                f.floor,
                (select max(size) from dagapp.log_checkpoints) as signed
         from dagapp.log_head h
         cross join (select coalesce(max(last_pos), 0) as floor from dagapp.archives where restored_at is null) f",
    )
    .fetch_one(pool)
    .await
}

/// An event in the memory of the row that it came in.
pub(crate) struct EventRow<'a> {
    pub(crate) pos: i64,
    pub(crate) stream_id: &'a str,
    pub(crate) version: i64,
    pub(crate) kind: &'a str,
    pub(crate) schema_ver: i16,
    pub(crate) org_id: &'a str,
    pub(crate) payload: &'a [u8],
    pub(crate) meta: &'a [u8],
    pub(crate) recorded_at: DateTime<Utc>,
    pub(crate) leaf: &'a [u8],
}

impl<'a> EventRow<'a> {
    pub(crate) fn of(row: &'a PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            pos: row.try_get(0)?,
            stream_id: row.try_get(1)?,
            version: row.try_get(2)?,
            kind: row.try_get(3)?,
            schema_ver: row.try_get(4)?,
            org_id: row.try_get(5)?,
            payload: row.try_get(6)?,
            meta: row.try_get(7)?,
            recorded_at: row.try_get(8)?,
            leaf: row.try_get(9)?,
        })
    }

    /// The leaf that its content gives, whatever stands beside it.
    pub(crate) fn computed_leaf(&self) -> Hash {
        leaf_hash(&Leaf {
            stream_id: self.stream_id,
            version: u64::try_from(self.version).unwrap_or(0),
            kind: self.kind,
            schema_ver: u16::try_from(self.schema_ver).unwrap_or(0),
            org_id: self.org_id,
            meta: self.meta,
            payload: self.payload,
        })
    }
}

/// Whole events of positions `from` to `upto`, in order, row by row: memory does not depend on their size.
pub(crate) fn events(
    db: &mut PgConnection,
    from: i64,
    upto: i64,
) -> BoxStream<'_, sqlx::Result<PgRow>> {
    sqlx::query(
        "select pos, stream_id, version, type, schema_ver, org_id, payload, meta, recorded_at, leaf
         from dagapp.events where pos >= $1 and pos <= $2 order by pos",
    )
    .bind(from)
    .bind(upto)
    .fetch(db)
    .boxed()
}

/// A batch as the database says it was.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct BatchRow {
    pub(crate) first_pos: i64,
    pub(crate) last_pos: i64,
    pub(crate) recorded_at: DateTime<Utc>,
    pub(crate) hash: Vec<u8>,
}

/// Batches that begin at positions `from` to `upto`, in order.
pub(crate) async fn batches<'c>(
    db: impl Executor<'c, Database = Postgres>,
    from: i64,
    upto: i64,
) -> sqlx::Result<Vec<BatchRow>> {
    sqlx::query_as(
        "select first_pos, last_pos, recorded_at, hash from dagapp.log_batches
         where first_pos >= $1 and first_pos <= $2 order by first_pos",
    )
    .bind(from)
    .bind(upto)
    .fetch_all(db)
    .await
}

/// What a range of positions has of one stream.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) stream_id: String,
    pub(crate) first_version: i64,
    pub(crate) last_version: i64,
    pub(crate) first_pos: i64,
    pub(crate) last_pos: i64,
    pub(crate) ends: bool,
}

/// A stream that does not go on from, or on to, what there is of it elsewhere.
#[derive(Debug, FromRow)]
pub(crate) struct BrokenStream {
    pub(crate) stream_id: String,
    pub(crate) pos: i64,
    pub(crate) fault: String,
    /// Only that its next version is nowhere: then what is missing comes later, and is named better there.
    pub(crate) is_loose: bool,
}

/// The first stream of a range that does not fit to the rest of the log and to `streams`. Nothing is said of what may
/// be archived, up to `floor`.
pub(crate) async fn broken_streams(
    db: &mut PgConnection,
    parts: &[Part],
    floor: i64,
) -> sqlx::Result<Option<BrokenStream>> {
    sqlx::query_as(
        "select stream_id, case when fault like 'before%' then first_pos else last_pos end as pos,
                substr(fault, 8) as fault, fault like 'later:%' as is_loose
         from (select t.*, case
             when s.stream_id is null then 'before:its stream has no row in `streams`'
             when s.first_pos > t.first_pos then 'before:`streams` says that its stream begins later'
             when t.first_version > 1 and s.first_pos > $7 and not exists (
                 select from dagapp.events e where e.stream_id = t.stream_id
                     and e.version = t.first_version - 1 and e.pos < t.first_pos)
                 then 'before:the version before it is not in the log'
             when t.first_version > 1 and exists (
                 select from dagapp.events e where e.stream_id = t.stream_id
                     and e.version = t.first_version and e.pos < t.first_pos)
                 then 'before:its version is in the log twice'
             when s.version < t.last_version then 'after: `streams` has an older version of its stream'
             when s.version > t.last_version and t.last_pos > $7 and not exists (
                 select from dagapp.events e where e.stream_id = t.stream_id
                     and e.version = t.last_version + 1 and e.pos > t.last_pos)
                 then 'later: the version after it is not in the log'
             when t.ends and not s.closed then 'after: it ends its stream, and `streams` says that it is open'
             end as fault
         from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bool[])
              as t (stream_id, first_version, last_version, first_pos, last_pos, ends)
         left join dagapp.streams s on s.stream_id = t.stream_id) judged
         where fault is not null
         order by is_loose, pos limit 1",
    )
    .bind(parts.iter().map(|p| p.stream_id.as_str()).collect::<Vec<_>>())
    .bind(parts.iter().map(|p| p.first_version).collect::<Vec<_>>())
    .bind(parts.iter().map(|p| p.last_version).collect::<Vec<_>>())
    .bind(parts.iter().map(|p| p.first_pos).collect::<Vec<_>>())
    .bind(parts.iter().map(|p| p.last_pos).collect::<Vec<_>>())
    .bind(parts.iter().map(|p| p.ends).collect::<Vec<_>>())
    .bind(floor)
    .fetch_optional(db)
    .await
}

/// Streams that no event stands behind: the first one after `after`, looked for among the next thousand.
pub(crate) async fn empty_stream(
    pool: &PgPool,
    after: &str,
    floor: i64,
    upto: i64,
) -> sqlx::Result<Option<(Option<String>, Option<i64>, String)>> {
    sqlx::query_as(
        "select min(p.stream_id) filter (where p.first_pos <= $2 and p.first_pos > $3 and not exists (
                    select from dagapp.events e where e.stream_id = p.stream_id and e.version = 1)),
                min(p.first_pos) filter (where p.first_pos <= $2 and p.first_pos > $3 and not exists (
                    select from dagapp.events e where e.stream_id = p.stream_id and e.version = 1)),
                max(p.stream_id)
         from (select stream_id, first_pos from dagapp.streams
               where stream_id > $1 order by stream_id limit 1000) p
         having count(*) > 0",
    )
    .bind(after)
    .bind(upto)
    .bind(floor)
    .fetch_optional(pool)
    .await
}

/// One event of a proof.
#[derive(Debug, FromRow)]
pub(crate) struct Proved {
    pub(crate) pos: i64,
    pub(crate) version: i64,
    #[sqlx(rename = "type")]
    pub(crate) kind: String,
    pub(crate) schema_ver: i16,
    pub(crate) org_id: String,
    pub(crate) meta: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

/// Events of one stream after a version and up to a position, in order.
pub(crate) async fn of_stream(
    pool: &PgPool,
    stream: &str,
    after: i64,
    upto: i64,
    limit: i64,
) -> sqlx::Result<Vec<Proved>> {
    sqlx::query_as(
        "with gate as materialized (
             select dagapp.live_history($1, 0) as after, $3 as upto,
                    (select first_pos from dagapp.streams where stream_id = $1) as base
         )
         select pos, version, type, schema_ver, org_id, meta, payload
         from gate cross join lateral (
             select * from dagapp.events
             where stream_id = $1 and version > $2 and pos > gate.after and pos >= gate.base and pos <= gate.upto
             order by version limit $4) e
         order by version",
    )
    .bind(stream)
    .bind(after)
    .bind(upto)
    .bind(limit)
    .fetch_all(pool)
    .await
}

/// The position of the last event of a stream.
pub(crate) async fn last_of_stream(pool: &PgPool, stream: &str) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "with gate as materialized (
             select stream_id, version, first_pos, dagapp.live_history(stream_id, 0) as after
             from dagapp.streams where stream_id = $1
         )
         select e.pos from gate cross join lateral (
             select pos from dagapp.events
             where stream_id = gate.stream_id and version = gate.version and pos > gate.after
               and pos >= gate.first_pos offset 0) e",
    )
    .bind(stream)
    .fetch_optional(pool)
    .await
}
