//! The log on Postgres.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::event::Hash;
use futures_util::future::BoxFuture;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgRow};
use sqlx::{ConnectOptions, Connection as _, PgConnection, Row as _};
use tokio::sync::Mutex;

use super::batch::Batch;
use super::error::LogError;
use super::{CommandOutcome, Committed, Log, OpenJob, Recorded};

/// An append that takes longer is given up by the database, and sent again.
const APPEND_TIMEOUT: Duration = Duration::from_secs(30);
/// A database that does not answer for so long is gone without a word, as after a power cut.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);

/// How long somebody waits for a connection of a pool.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection that was used so recently is taken to be alive.
const TRUSTED_FOR: Duration = Duration::from_secs(1);
/// What the database lets a read take.
const READ_TIMEOUT: &str = "30s";

/// How to reach the database.
#[derive(Debug, Clone)]
pub struct Connect {
    pub options: PgConnectOptions,
    /// Connections for reading, besides the one for appending.
    pub readers: u32,
}

impl Connect {
    /// Reads a `postgres://` address.
    pub fn parse(url: &str, readers: u32) -> Result<Self, LogError> {
        let refused = || LogError::Refused("this is not an address of a Postgres database".into());
        if !["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
        {
            return Err(refused());
        }
        let options: PgConnectOptions = url.parse().map_err(|_| refused())?;
        Ok(Self {
            options: options
                .application_name("strata")
                .disable_statement_logging(),
            readers,
        })
    }
}

/// How every pool of the platform behaves.
///
/// A connection is asked whether it is alive when it has been idle, not before each statement: that would double
/// the round trips.
#[must_use]
pub fn pool_options(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for >= TRUSTED_FOR {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
}

/// The real log. One connection appends, a small pool reads.
#[derive(Debug)]
pub struct PostgresLog {
    pub(super) pool: PgPool,
    options: PgConnectOptions,
    writer: Mutex<Option<PgConnection>>,
}

const APPEND: &str = "select first_pos, at, outcomes from dagapp.append(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
    $23, $24, $25, $26, $27, $28, $29)";

// The gate spares the older partitions, and refuses what is archived (migration 11).
const READ_STREAM: &str = "with gate as materialized (select dagapp.live_stream($1, $2) as base)
     select pos, stream_id, version, type, schema_ver, org_id, payload, meta, recorded_at, leaf
     from gate cross join lateral (
         select * from dagapp.events
         where stream_id = $1 and version > $2 and pos >= gate.base
         order by version limit $3) e
     order by version";

impl PostgresLog {
    /// Connects now or fails.
    pub async fn connect(connect: &Connect) -> Result<Self, LogError> {
        // A read that was given up must not keep its connection.
        let readers = connect
            .options
            .clone()
            .options([("statement_timeout", READ_TIMEOUT)]);
        let pool = pool_options(connect.readers).connect_with(readers).await?;
        Ok(Self {
            pool,
            options: connect.options.clone(),
            writer: Mutex::new(None),
        })
    }

    /// The pool for reading.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    async fn send(&self, batch: &Batch) -> Result<Committed, LogError> {
        let mut writer = self.writer.lock().await;
        // Taken out while in use: if this future is dropped half-way, the connection is not used again.
        let mut connection = match writer.take() {
            Some(connection) => connection,
            None => answered(self.open_writer()).await?,
        };
        let sent = answered(append(&mut connection, batch)).await;
        if sent.is_ok() && bus::fault::strikes("commit-answer-lost") {
            return Err(LogError::Unavailable("the answer was lost".to_owned()));
        }
        if sent.is_ok() {
            *writer = Some(connection);
        }
        sent
    }

    async fn open_writer(&self) -> Result<PgConnection, LogError> {
        let millis = APPEND_TIMEOUT.as_millis().to_string();
        let options = self
            .options
            .clone()
            .application_name("strata-append")
            .options([
                ("statement_timeout", millis.as_str()),
                ("lock_timeout", millis.as_str()),
                // The plan of the append must not depend on how full the tables were when it was made.
                ("plan_cache_mode", "force_generic_plan"),
                ("enable_seqscan", "off"),
                ("enable_hashjoin", "off"),
                ("enable_mergejoin", "off"),
            ]);
        Ok(options.connect().await?)
    }
}

/// What the database answers, if it does so in time.
pub(super) async fn answered<T>(
    work: impl Future<Output = Result<T, LogError>>,
) -> Result<T, LogError> {
    match tokio::time::timeout(ANSWER_TIMEOUT, work).await {
        Ok(done) => done,
        Err(_) => Err(LogError::Unavailable("it does not answer".to_owned())),
    }
}

async fn append(connection: &mut PgConnection, batch: &Batch) -> Result<Committed, LogError> {
    let commands = &batch.commands;
    let events = &batch.events;
    let stream = |place: usize| commands.get(place).map_or("", |c| c.stream.as_str());
    let changes = Changes::of(batch);
    let query = sqlx::query(APPEND)
        .bind(batch.batch_id)
        .bind(
            commands
                .iter()
                .map(|c| c.stream.as_str())
                .collect::<Vec<_>>(),
        )
        .bind(
            commands
                .iter()
                .map(|c| c.expected.map(signed))
                .collect::<Vec<_>>(),
        )
        .bind(
            commands
                .iter()
                .map(|c| small(c.event_count))
                .collect::<Vec<_>>(),
        )
        .bind(commands.iter().map(|c| small(c.group)).collect::<Vec<_>>())
        .bind(
            commands
                .iter()
                .map(|c| schema(c.max_schema))
                .collect::<Vec<_>>(),
        )
        .bind(commands.iter().map(|c| c.closes).collect::<Vec<_>>())
        .bind(events.iter().map(|e| stream(e.command)).collect::<Vec<_>>())
        .bind(
            events
                .iter()
                .map(|e| e.version.map(signed))
                .collect::<Vec<_>>(),
        )
        .bind(events.iter().map(|e| e.kind).collect::<Vec<_>>())
        .bind(
            events
                .iter()
                .map(|e| schema(e.schema_ver))
                .collect::<Vec<_>>(),
        )
        .bind(events.iter().map(|e| e.org_id.as_str()).collect::<Vec<_>>())
        .bind(
            events
                .iter()
                .map(|e| e.payload.as_slice())
                .collect::<Vec<_>>(),
        )
        .bind(events.iter().map(|e| e.meta.as_slice()).collect::<Vec<_>>())
        .bind(
            events
                .iter()
                .map(|e| e.leaf.map(|l| l.to_vec()))
                .collect::<Vec<_>>(),
        );
    let row = changes.bind(query).fetch_one(connection).await?;
    let outcomes: Vec<i64> = row.try_get("outcomes")?;
    Ok(Committed {
        first_pos: unsigned(row.try_get("first_pos")?),
        at: row.try_get("at")?,
        outcomes: outcomes.into_iter().map(outcome).collect(),
    })
}

fn outcome(number: i64) -> CommandOutcome {
    if number > 0 {
        CommandOutcome::Appended {
            version: unsigned(number),
        }
    } else {
        CommandOutcome::Conflict {
            version: unsigned(-1 - number),
        }
    }
}

/// The changes of `open_jobs`, sorted by kind into columns.
#[derive(Default)]
struct Changes<'a> {
    open: Vec<(&'a str, &'a str, i32)>,
    claim: Vec<(&'a str, uuid::Uuid, i64, Option<i32>, i32)>,
    settle: Vec<(&'a str, i32, Option<DateTime<Utc>>, i32)>,
    close: Vec<(&'a str, i32)>,
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

impl<'a> Changes<'a> {
    fn of(batch: &'a Batch) -> Self {
        let mut changes = Self::default();
        for (place, change) in &batch.open_jobs {
            let command = small(place + 1);
            match change {
                OpenJob::Open { job_id, request_id } => {
                    changes.open.push((job_id, request_id, command));
                }
                OpenJob::Claim {
                    job_id,
                    owner,
                    epoch,
                    weight,
                } => changes.claim.push((
                    job_id,
                    *owner,
                    signed(*epoch),
                    weight.map(|w| i32::try_from(w).unwrap_or(i32::MAX)),
                    command,
                )),
                OpenJob::Settle {
                    job_id,
                    weight,
                    due,
                } => {
                    let weight = i32::try_from(*weight).unwrap_or(i32::MAX);
                    changes.settle.push((job_id, weight, *due, command));
                }
                OpenJob::Close { job_id } => changes.close.push((job_id, command)),
            }
        }
        changes
    }

    fn bind<'q>(&self, query: Query<'q>) -> Query<'q> {
        let (open, claim, settle, close) = (&self.open, &self.claim, &self.settle, &self.close);
        query
            .bind(open.iter().map(|o| o.0.to_owned()).collect::<Vec<_>>())
            .bind(open.iter().map(|o| o.1.to_owned()).collect::<Vec<_>>())
            .bind(claim.iter().map(|l| l.0.to_owned()).collect::<Vec<_>>())
            .bind(claim.iter().map(|l| l.1).collect::<Vec<_>>())
            .bind(claim.iter().map(|l| l.2).collect::<Vec<_>>())
            .bind(claim.iter().map(|l| l.3).collect::<Vec<_>>())
            .bind(settle.iter().map(|s| s.0.to_owned()).collect::<Vec<_>>())
            .bind(settle.iter().map(|s| s.1).collect::<Vec<_>>())
            .bind(settle.iter().map(|s| s.2).collect::<Vec<_>>())
            .bind(open.iter().map(|o| o.2).collect::<Vec<_>>())
            .bind(claim.iter().map(|l| l.4).collect::<Vec<_>>())
            .bind(settle.iter().map(|s| s.3).collect::<Vec<_>>())
            .bind(close.iter().map(|x| x.0.to_owned()).collect::<Vec<_>>())
            .bind(close.iter().map(|x| x.1).collect::<Vec<_>>())
    }
}

impl Log for PostgresLog {
    fn append<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Result<Committed, LogError>> {
        Box::pin(self.send(batch))
    }

    fn read_stream<'a>(
        &'a self,
        stream: &'a str,
        after_version: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, LogError>> {
        Box::pin(answered(async move {
            let rows = sqlx::query(READ_STREAM)
                .bind(stream)
                .bind(signed(after_version))
                .bind(i64::try_from(limit).unwrap_or(i64::MAX))
                .fetch_all(&self.pool)
                .await?;
            rows.iter().map(recorded).collect()
        }))
    }

    fn read_streams<'a>(
        &'a self,
        streams: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Recorded>, LogError>> {
        Box::pin(answered(async move {
            // Spares the older partitions, and refuses what is archived.
            let rows = sqlx::query(
                "with wanted as materialized (
                     select stream_id, dagapp.live_stream(stream_id, 0) as base
                     from dagapp.streams where stream_id = any($1)
                 )
                 select e.pos, e.stream_id, e.version, e.type, e.schema_ver, e.org_id, e.payload, e.meta,
                        e.recorded_at, e.leaf
                 from wanted w
                 cross join lateral (
                     select * from dagapp.events e
                     where e.stream_id = w.stream_id and e.pos >= w.base offset 0
                 ) e order by e.stream_id, e.version",
            )
            .bind(streams)
            .fetch_all(&self.pool)
            .await?;
            rows.iter().map(recorded).collect()
        }))
    }

    fn read_log<'a>(
        &'a self,
        after_pos: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, LogError>> {
        Box::pin(answered(async move {
            let rows = sqlx::query(
                "with gate as materialized (select dagapp.live($1) as after)
                 select pos, stream_id, version, type, schema_ver, org_id, payload, meta, recorded_at, leaf
                 from gate cross join lateral (
                     select * from dagapp.events where pos > gate.after order by pos limit $2) e
                 order by pos",
            )
            .bind(signed(after_pos))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&self.pool)
            .await?;
            rows.iter().map(recorded).collect()
        }))
    }

    fn now(&self) -> BoxFuture<'_, Result<DateTime<Utc>, LogError>> {
        Box::pin(answered(async move {
            let row = sqlx::query("select clock_timestamp() as now")
                .fetch_one(&self.pool)
                .await?;
            Ok(row.try_get("now")?)
        }))
    }
}

fn recorded(row: &PgRow) -> Result<Recorded, LogError> {
    let leaf: Vec<u8> = row.try_get("leaf")?;
    let leaf = Hash::try_from(leaf.as_slice())
        .map_err(|_| LogError::Decode("a leaf is not a SHA-256".into()))?;
    Ok(Recorded {
        pos: unsigned(row.try_get("pos")?),
        stream_id: row.try_get("stream_id")?,
        version: unsigned(row.try_get("version")?),
        kind: row.try_get("type")?,
        schema_ver: u16::try_from(row.try_get::<i16, _>("schema_ver")?).unwrap_or(0),
        org_id: row.try_get("org_id")?,
        payload: row.try_get("payload")?,
        meta: row.try_get("meta")?,
        recorded_at: row.try_get("recorded_at")?,
        leaf,
    })
}

/// Postgres has no unsigned numbers; ours stay far below the sign.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn small(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn schema(number: u16) -> i16 {
    i16::try_from(number).unwrap_or(i16::MAX)
}
