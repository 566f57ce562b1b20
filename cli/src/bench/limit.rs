//! The machine's own limits, measured on the database of the same run: a repository module of SQL.
//!
//! The plain table has the columns and the two unique indexes of the log, and nothing else: no head, no
//! versions, no hash. What a bench is held against must do the same writing and none of our work.

use std::time::Duration;

use commands::log::Batch;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::time::Instant;

use super::meter::now;

/// Connections that commit at once.
const COMMITTERS: u32 = 32;
/// How long commits are counted.
const COMMITS_FOR: Duration = Duration::from_millis(1_500);

/// A plain table like the log.
pub(super) struct Plain {
    pool: PgPool,
    pos: i64,
}

impl Plain {
    pub(super) async fn make(pool: &PgPool) -> anyhow::Result<Self> {
        for statement in [
            "create table if not exists bench_plain (
                pos bigint primary key, stream_id text not null, version bigint not null,
                type text not null, schema_ver smallint not null, org_id text not null,
                payload bytea not null, meta bytea not null, recorded_at timestamptz not null,
                leaf bytea not null)",
            "create unique index if not exists bench_plain_stream on bench_plain (stream_id, version)",
            "truncate bench_plain",
        ] {
            sqlx::query(statement).execute(pool).await?;
        }
        let pool = pool.clone();
        Ok(Self { pool, pos: 0 })
    }

    /// Inserts the events of a batch with one statement and one commit; says how long that took.
    pub(super) async fn insert(&mut self, batch: &Batch) -> anyhow::Result<Duration> {
        let events = &batch.events;
        let stream = |place: usize| batch.commands.get(place).map_or("", |c| c.stream.as_str());
        let start = now();
        sqlx::query(
            "insert into bench_plain
             select $1 + e.ord, e.stream, e.version, e.type, e.schema_ver, e.org, e.payload, e.meta,
                    clock_timestamp(), e.leaf
             from unnest($2::text[], $3::bigint[], $4::text[], $5::smallint[], $6::text[], $7::bytea[],
                         $8::bytea[], $9::bytea[]) with ordinality
                  as e (stream, version, type, schema_ver, org, payload, meta, leaf, ord)",
        )
        .bind(self.pos)
        .bind(events.iter().map(|e| stream(e.command)).collect::<Vec<_>>())
        .bind(events.iter().map(|e| e.version.map(i64::try_from).and_then(Result::ok)).collect::<Vec<_>>())
        .bind(events.iter().map(|e| e.kind).collect::<Vec<_>>())
        .bind(events.iter().map(|e| i16::try_from(e.schema_ver).unwrap_or(1)).collect::<Vec<_>>())
        .bind(events.iter().map(|e| e.org_id.as_str()).collect::<Vec<_>>())
        .bind(events.iter().map(|e| e.payload.as_slice()).collect::<Vec<_>>())
        .bind(events.iter().map(|e| e.meta.as_slice()).collect::<Vec<_>>())
        .bind(events.iter().map(|e| e.leaf.as_ref().map(|leaf| leaf.as_slice())).collect::<Vec<_>>())
        .execute(&self.pool)
        .await?;
        self.pos += i64::try_from(events.len())?;
        Ok(start.elapsed())
    }
}

/// Durable commits of one row per second, over many connections.
pub(super) async fn commits_per_s(pool: &PgPool) -> anyhow::Result<f64> {
    sqlx::query("create table if not exists bench_commits (n bigint)")
        .execute(pool)
        .await?;
    let many = PgPoolOptions::new()
        .max_connections(COMMITTERS)
        .min_connections(COMMITTERS)
        .connect_with(pool.connect_options().as_ref().clone())
        .await?;
    let start = now();
    let end = Instant::now() + COMMITS_FOR;
    let committers = (0..COMMITTERS).map(|_| {
        let many = many.clone();
        tokio::spawn(async move {
            let mut connection = many.acquire().await?;
            let mut count = 0_u32;
            while Instant::now() < end {
                sqlx::query("insert into bench_commits values ($1)")
                    .bind(i64::from(count))
                    .execute(&mut *connection)
                    .await?;
                count += 1;
            }
            Ok::<u32, sqlx::Error>(count)
        })
    });
    let mut total = 0;
    for counted in futures_util::future::join_all(committers).await {
        total += counted??;
    }
    let elapsed = start.elapsed().as_secs_f64();
    many.close().await;
    Ok(f64::from(total) / elapsed)
}

/// Events of one read in order.
const READ_EVENTS: i64 = 5_000;

/// Reads the whole log in its order, range by range, and says how many events per second that were.
pub(super) async fn read_in_order(pool: &PgPool) -> anyhow::Result<f64> {
    type Event = (
        i64,
        String,
        i64,
        String,
        i16,
        String,
        Vec<u8>,
        chrono::DateTime<chrono::Utc>,
    );
    let start = now();
    let (mut pos, mut bytes) = (0, 0);
    loop {
        let some: Vec<Event> = sqlx::query_as(
            "select pos, stream_id, version, type, schema_ver, org_id, payload, recorded_at
             from dagapp.events where pos > $1 and pos <= $1 + $2 order by pos",
        )
        .bind(pos)
        .bind(READ_EVENTS)
        .fetch_all(pool)
        .await?;
        let Some(last) = some.last() else { break };
        pos = last.0;
        bytes += some.iter().map(|event| event.6.len()).sum::<usize>();
    }
    anyhow::ensure!(bytes > 0, "the measured log is empty");
    Ok(pos as f64 / start.elapsed().as_secs_f64())
}
