//! The log for live views: short reads by position.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use super::{Page, limit};
use crate::Error;

/// Bytes of one read; a single larger event still comes alone.
const READ_BYTES_MAX: i64 = 4 * 1024 * 1024;
/// No event is larger.
const EVENT_BYTES_MAX: i64 = 2 * 1024 * 1024;

/// One event as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct LogEvent {
    pub pos: i64,
    pub stream_id: String,
    pub version: i64,
    #[sqlx(rename = "type")]
    pub kind: String,
    pub org_id: String,
    pub payload: Vec<u8>,
    pub meta: Vec<u8>,
    pub recorded_at: DateTime<Utc>,
}

/// Where the log ends, and which log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct LogHead {
    pub pos: i64,
    pub incarnation: Uuid,
    pub recorded_at: Option<DateTime<Utc>>,
}

impl LogEvent {
    /// What happened, as data.
    #[must_use]
    pub fn data(&self) -> Value {
        serde_json::from_slice(&self.payload).unwrap_or_default()
    }

    /// One field of who wanted it and why.
    #[must_use]
    pub fn meta_field(&self, name: &str) -> Option<String> {
        let meta: Value = serde_json::from_slice(&self.meta).ok()?;
        meta.get(name)?.as_str().map(str::to_owned)
    }

    /// The id behind a kind of stream, such as `job`.
    #[must_use]
    pub fn id_of(&self, kind: &str) -> Option<&str> {
        self.stream_id.strip_prefix(kind)?.strip_prefix(':')
    }
}

/// The end of the log.
pub async fn log_head(pool: &PgPool) -> Result<LogHead, Error> {
    let row = sqlx::query_as(
        "select pos, incarnation, nullif(recorded_at, '-infinity') as recorded_at from dagapp.log_head",
    );
    Ok(row.fetch_one(pool).await?)
}

/// Events of everybody after a position; for the one task that hands them out.
pub async fn log_after(pool: &PgPool, pos: i64, limit: i64) -> Result<Vec<LogEvent>, Error> {
    let rows = sqlx::query_as(
        "with gate as materialized (select dagapp.live($1) as after, $1 + $2 as upto)
         select pos, stream_id, version, type, org_id, payload, meta, recorded_at
         from (select e.*, sum(octet_length(payload)) over (order by pos) as total
               from gate cross join lateral (
                   select * from dagapp.events where pos > gate.after and pos <= gate.upto offset 0) e) e
         where total <= $3 or pos = $1 + 1
         order by pos",
    );
    let rows = rows.bind(pos).bind(limit).bind(READ_BYTES_MAX);
    Ok(rows.fetch_all(pool).await?)
}

/// Events of one stream after a position, up to another; fewer if they are large.
pub async fn stream_after(
    pool: &PgPool,
    stream_id: &str,
    pos: i64,
    upto: i64,
    limit: i64,
) -> Result<Vec<LogEvent>, Error> {
    let rows = sqlx::query_as(
        "with gate as materialized (select dagapp.live_history($1, $2) as after, $3 as upto)
         select pos, stream_id, version, type, org_id, payload, meta, recorded_at
         from (select few.*, sum(octet_length(payload)) over (order by version) as total,
                      row_number() over (order by version) as nth
               from gate cross join lateral (
                     select * from dagapp.events
                     where stream_id = $1 and pos > gate.after and pos <= gate.upto
                     order by version limit $4) few) e
         where total <= $5 or nth = 1
         order by version",
    );
    let rows = rows.bind(stream_id).bind(pos).bind(upto).bind(limit);
    Ok(rows.bind(READ_BYTES_MAX).fetch_all(pool).await?)
}

/// Events of one organisation among the next `range` positions, and the last position looked at; a shorter
/// range if they are large.
pub async fn org_after(
    pool: &PgPool,
    org_id: &str,
    pos: i64,
    range: i64,
) -> Result<(Vec<LogEvent>, i64), Error> {
    let head = log_head(pool).await?.pos;
    let upto = head.min(pos + range);
    let rows = sqlx::query_as(
        "with gate as materialized (select dagapp.live($1) as after, $2 as upto)
         select pos, stream_id, version, type, org_id, payload, meta, recorded_at
         from (select e.*, sum(octet_length(payload)) over (order by pos) as total,
                      row_number() over (order by pos) as nth
               from gate cross join lateral (
                   select * from dagapp.events
                   where pos > gate.after and pos <= gate.upto and org_id = $3 offset 0) e) e
         where total <= $4 or nth = 1
         order by pos",
    );
    let rows = rows.bind(pos).bind(upto).bind(org_id).bind(READ_BYTES_MAX);
    let events: Vec<LogEvent> = rows.fetch_all(pool).await?;
    let bytes: usize = events.iter().map(|event| event.payload.len()).sum();
    // Near the bound some may have been left out: go on right behind the last one.
    let cut = i64::try_from(bytes).unwrap_or(i64::MAX) > READ_BYTES_MAX - EVENT_BYTES_MAX;
    let last = events.last().map(|event| event.pos);
    Ok((events, if cut { last.unwrap_or(upto) } else { upto }))
}

/// The events at these positions that belong to the organisation.
pub async fn events_at(pool: &PgPool, org_id: &str, at: &[i64]) -> Result<Vec<LogEvent>, Error> {
    let rows = sqlx::query_as(
        "with gate as materialized (select $1 as at, dagapp.live((select min(p) - 1 from unnest($1) as p)) as after)
         select pos, stream_id, version, type, org_id, payload, meta, recorded_at
         from gate cross join lateral (
             select * from dagapp.events
             where pos = any(gate.at) and pos > gate.after and org_id = $2 offset 0) e
         order by pos",
    );
    Ok(rows.bind(at).bind(org_id).fetch_all(pool).await?)
}

/// Which events of one stream to list.
#[derive(Debug, Clone, Default)]
pub struct StreamFilter {
    pub stream_id: String,
    /// Only these types; all with none.
    pub kinds: Vec<String>,
    pub newest_first: bool,
    /// Only those up to this position.
    pub upto: Option<i64>,
    pub limit: i64,
    /// `next` of the page before: a version.
    pub cursor: Option<String>,
}

/// Events of one stream by pages; whose it is must be known before.
pub async fn stream_events(pool: &PgPool, filter: &StreamFilter) -> Result<Page<LogEvent>, Error> {
    let limit = limit(filter.limit);
    let mut query =
        sqlx::QueryBuilder::new("with gate as materialized (select dagapp.live_history(");
    query.push_bind(&filter.stream_id).push(", 0) as after, ");
    query.push_bind(filter.upto.unwrap_or(i64::MAX));
    query.push(
        " as upto)
         select pos, stream_id, version, type, org_id, payload, meta, recorded_at
         from gate cross join lateral (
             select * from dagapp.events where pos > gate.after and pos <= gate.upto and stream_id = ",
    );
    query.push_bind(&filter.stream_id);
    if let Some(text) = &filter.cursor {
        let bad = || Error::Cursor(text.chars().take(80).collect());
        let version: i64 = text.parse().map_err(|_| bad())?;
        let after = if filter.newest_first {
            " and version < "
        } else {
            " and version > "
        };
        query.push(after).push_bind(version);
    }
    if !filter.kinds.is_empty() {
        query
            .push(" and type = any(")
            .push_bind(&filter.kinds)
            .push(")");
    }
    let order = if filter.newest_first {
        " order by version desc"
    } else {
        " order by version"
    };
    query.push(order).push(" limit ").push_bind(limit + 1);
    query.push(") e").push(order);
    let rows = query.build_query_as().persistent(false).fetch_all(pool);
    Ok(Page::cut(rows.await?, limit, |event: &LogEvent| {
        event.version.to_string()
    }))
}
