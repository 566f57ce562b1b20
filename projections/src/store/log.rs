//! Reads of the log, always short and in the order of positions or versions.
//!
//! `dagapp.live` and its sisters stand in every statement of this crate that reads events: they refuse, in the snapshot of
//! that very statement, what is archived. Each is the gate of its statement (migration 11 says how, and why so).

use chrono::{DateTime, Utc};
use domain::event::{DecodeError, Event};
use sqlx::{Executor, FromRow, PgConnection, Postgres};

use super::sent::{self, Sent};

/// Payload bytes of one read, at most; a single larger event still comes alone.
const READ_BYTES_MAX: i64 = 16 * 1024 * 1024;

/// One event as the log keeps it.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct Entry {
    pub pos: i64,
    pub stream_id: String,
    pub version: i64,
    #[sqlx(rename = "type")]
    pub kind: String,
    pub schema_ver: i16,
    pub org_id: String,
    pub payload: Vec<u8>,
    pub recorded_at: DateTime<Utc>,
}

impl Entry {
    /// The event itself.
    pub(crate) fn decode(&self) -> Result<Event, DecodeError> {
        decode(&self.kind, self.schema_ver, &self.payload)
    }
}

fn decode(kind: &str, schema_ver: i16, payload: &[u8]) -> Result<Event, DecodeError> {
    domain::event::decode(kind, u16::try_from(schema_ver).unwrap_or(u16::MAX), payload)
}

/// One event in the bytes in which it came: whoever reads all of the log copies nothing that is not kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) pos: i64,
    pub(crate) stream_id: &'a str,
    pub(crate) version: i64,
    kind: &'a str,
    schema_ver: i16,
    pub(crate) org_id: &'a str,
    pub(crate) payload: &'a [u8],
    pub(crate) recorded_at: DateTime<Utc>,
}

impl<'a> Seen<'a> {
    /// Takes the next event off the bytes of [`range`].
    pub(crate) fn next(bytes: &mut &'a [u8]) -> sqlx::Result<Option<Self>> {
        let Some(columns) = sent::row(bytes)? else {
            return Ok(None);
        };
        let [
            pos,
            stream_id,
            version,
            kind,
            schema_ver,
            org_id,
            payload,
            recorded_at,
        ] = columns;
        Ok(Some(Self {
            pos: sent::bigint(pos)?,
            stream_id: sent::text(stream_id)?,
            version: sent::bigint(version)?,
            kind: sent::text(kind)?,
            schema_ver: sent::smallint(schema_ver)?,
            org_id: sent::text(org_id)?,
            payload,
            recorded_at: sent::time(recorded_at)?,
        }))
    }
}

impl Seen<'_> {
    pub(crate) fn decode(&self) -> Result<Event, DecodeError> {
        decode(self.kind, self.schema_ver, self.payload)
    }

    /// To be kept.
    pub(crate) fn entry(&self) -> Entry {
        Entry {
            pos: self.pos,
            stream_id: self.stream_id.to_owned(),
            version: self.version,
            kind: self.kind.to_owned(),
            schema_ver: self.schema_ver,
            org_id: self.org_id.to_owned(),
            payload: self.payload.to_owned(),
            recorded_at: self.recorded_at,
        }
    }
}

/// The events after `cursor` and up to `upto`, as fast as they can be had.
pub(crate) async fn range(db: &mut PgConnection, cursor: i64, upto: i64) -> sqlx::Result<Sent<'_>> {
    // COPY takes no parameters; these are numbers.
    let query = format!(
        "select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at
         from dagapp.events where pos > {cursor} and pos <= {upto} order by pos"
    );
    Sent::of(db, &query).await
}

/// The next events after `cursor`. Positions have no gaps, so a range is as good as a limit.
pub(crate) async fn after<'c>(
    db: impl Executor<'c, Database = Postgres>,
    cursor: i64,
    limit: i64,
) -> sqlx::Result<Vec<Entry>> {
    sqlx::query_as(
        "with gate as materialized (select dagapp.live($1) as after, $1 + $2 as upto)
         select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at
         from (select e.*, sum(octet_length(payload)) over (order by pos) as total
               from gate cross join lateral (
                   select * from dagapp.events where pos > gate.after and pos <= gate.upto offset 0) e) e
         where total <= $3 or pos = $1 + 1
         order by pos",
    )
    .bind(cursor)
    .bind(limit)
    .bind(READ_BYTES_MAX)
    .fetch_all(db)
    .await
}

#[derive(FromRow)]
struct Counted {
    #[sqlx(flatten)]
    entry: Entry,
    found: i64,
}

/// The events of some types among the next `limit` after `cursor`, and the position that whoever has
/// seen them is at.
pub(crate) async fn after_of(
    pool: &sqlx::PgPool,
    cursor: i64,
    limit: i64,
    kinds: &[&str],
) -> sqlx::Result<(Vec<Entry>, i64)> {
    let upto = head(pool).await?.min(cursor + limit).max(cursor);
    if upto == cursor {
        return Ok((Vec::new(), cursor));
    }
    let rows: Vec<Counted> = sqlx::query_as(
        "with gate as materialized (select dagapp.live($1) as after, $2 as upto)
         select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at, found
         from (select e.*, count(*) over () as found, row_number() over (order by pos) as nth,
                      sum(octet_length(payload)) over (order by pos) as total
               from gate cross join lateral (
                   select * from dagapp.events
                   where pos > gate.after and pos <= gate.upto and type = any($3) offset 0) e) e
         where total <= $4 or nth = 1
         order by pos",
    )
    .bind(cursor)
    .bind(upto)
    .bind(kinds)
    .bind(READ_BYTES_MAX)
    .fetch_all(pool)
    .await?;
    let found = rows.first().map_or(0, |row| row.found);
    let entries: Vec<Entry> = rows.into_iter().map(|row| row.entry).collect();
    // Cut off by its size: the rest comes next.
    let is_cut = i64::try_from(entries.len()).unwrap_or(i64::MAX) < found;
    let last = entries.last().map(|entry| entry.pos).filter(|_| is_cut);
    Ok((entries, last.unwrap_or(upto)))
}

/// Events of one stream after `version`, up to position `upto`.
pub(crate) async fn of_stream<'c>(
    db: impl Executor<'c, Database = Postgres>,
    stream_id: &str,
    version: i64,
    upto: i64,
    limit: i64,
) -> sqlx::Result<Vec<Entry>> {
    sqlx::query_as(
        "with gate as materialized (select dagapp.live_stream($1, $2, $3) as base, $3 as upto)
         select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at
         from gate cross join lateral (
             select * from dagapp.events
             where stream_id = $1 and version > $2 and pos >= gate.base and pos <= gate.upto
             order by version limit $4) e
         order by version",
    )
    .bind(stream_id)
    .bind(version)
    .bind(upto)
    .bind(limit)
    .fetch_all(db)
    .await
}

/// Whole streams up to position `upto`, each in order.
pub(crate) async fn of_streams<'c>(
    db: impl Executor<'c, Database = Postgres>,
    stream_ids: &[String],
    upto: i64,
) -> sqlx::Result<Vec<Entry>> {
    sqlx::query_as(
        "with wanted as materialized (
             select id, dagapp.live_stream(id, 0, $2) as base, $2 as upto from unnest($1::text[]) as w (id)
         )
         select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at
         from wanted
         cross join lateral (select * from dagapp.events e
                             where e.stream_id = wanted.id and e.pos >= wanted.base and e.pos <= wanted.upto offset 0) e
         order by pos",
    )
    .bind(stream_ids)
    .bind(upto)
    .fetch_all(db)
    .await
}

/// What jobs took over from older ones: one of their first events.
pub(crate) async fn reuse_events<'c>(
    db: impl Executor<'c, Database = Postgres>,
    stream_ids: &[String],
) -> sqlx::Result<Vec<Entry>> {
    sqlx::query_as(
        "with wanted as materialized (
             select id, dagapp.live_stream(id, 0) as base from unnest($1::text[]) as w (id)
         )
         select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at
         from wanted
         cross join lateral (select * from dagapp.events e
                             where e.stream_id = wanted.id and e.version <= 16 and e.type = 'outputs_reused'
                               and e.pos >= wanted.base offset 0) e
         order by pos",
    )
    .bind(stream_ids)
    .fetch_all(db)
    .await
}

/// Streams with the given beginning of their names, after `cursor`, that exist at position `upto`.
pub(crate) async fn streams<'c>(
    db: impl Executor<'c, Database = Postgres>,
    prefix: &str,
    cursor: &str,
    upto: i64,
    limit: i64,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "select stream_id from dagapp.streams
         where stream_id > $2 and starts_with(stream_id, $1) and first_pos <= $3
         order by stream_id limit $4",
    )
    .bind(prefix)
    .bind(cursor)
    .bind(upto)
    .bind(limit)
    .fetch_all(db)
    .await
}

/// The last position of the log.
pub(crate) async fn head<'c>(db: impl Executor<'c, Database = Postgres>) -> sqlx::Result<i64> {
    sqlx::query_scalar("select pos from dagapp.log_head")
        .fetch_one(db)
        .await
}
