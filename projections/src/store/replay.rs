//! What replay reads of the log: which jobs were made when, and their events with their metadata.
//!
//! Nothing but the log: these statements must also work for a build that is newer than the read models.

use chrono::{DateTime, Utc};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use sqlx::{FromRow, PgConnection, PgPool};

/// A job, with where it begins and how many events it has.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct Made {
    pub(crate) stream_id: String,
    pub(crate) first_pos: i64,
    pub(crate) version: i64,
}

/// Jobs whose first event is at positions `from` to `upto`, in order.
pub(crate) async fn made(pool: &PgPool, from: i64, upto: i64) -> sqlx::Result<Vec<Made>> {
    sqlx::query_as(
        "select s.stream_id, s.first_pos, s.version
         from dagapp.events e join dagapp.streams s on s.stream_id = e.stream_id
         where e.pos >= $1 and e.pos <= $2 and e.type = 'job_created'
         order by e.pos",
    )
    .bind(from)
    .bind(upto)
    .fetch_all(pool)
    .await
}

/// One job.
pub(crate) async fn one(pool: &PgPool, stream_id: &str) -> sqlx::Result<Option<Made>> {
    sqlx::query_as("select stream_id, first_pos, version from dagapp.streams where stream_id = $1")
        .bind(stream_id)
        .fetch_optional(pool)
        .await
}

/// One event of a job.
#[derive(Debug, FromRow)]
pub(crate) struct Row {
    pub(crate) stream_id: String,
    pub(crate) pos: i64,
    pub(crate) version: i64,
    #[sqlx(rename = "type")]
    pub(crate) kind: String,
    pub(crate) schema_ver: i16,
    pub(crate) payload: Vec<u8>,
    pub(crate) meta: Vec<u8>,
    pub(crate) recorded_at: DateTime<Utc>,
}

/// The events of some short streams, one stream after the other, row by row.
pub(crate) fn of_few<'c>(
    db: &'c mut PgConnection,
    streams: &'c [String],
    from: i64,
) -> BoxStream<'c, sqlx::Result<Row>> {
    sqlx::query_as(
        "select stream_id, pos, version, type, schema_ver, payload, meta, recorded_at
         from dagapp.events where stream_id = any($1) and pos >= $2
         order by stream_id, version",
    )
    .bind(streams)
    .bind(from)
    .fetch(db)
    .boxed()
}

/// The next events of one stream, row by row.
pub(crate) fn of_one<'c>(
    db: &'c mut PgConnection,
    stream: &'c str,
    (version, from): (i64, i64),
    limit: i64,
) -> BoxStream<'c, sqlx::Result<Row>> {
    sqlx::query_as(
        "select stream_id, pos, version, type, schema_ver, payload, meta, recorded_at
         from dagapp.events where stream_id = $1 and version > $2 and pos >= $3
         order by version limit $4",
    )
    .bind(stream)
    .bind(version)
    .bind(from)
    .bind(limit)
    .fetch(db)
    .boxed()
}
