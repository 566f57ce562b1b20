//! How far the read models are, and waiting for them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Error;
use crate::store::{checkpoints as store, log};

/// How far one projector is, and who leads it.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize)]
pub struct Checkpoint {
    pub name: String,
    pub version: i32,
    pub pos: i64,
    pub leader: Option<Uuid>,
    pub epoch: i64,
    pub is_led: bool,
    pub updated_at: DateTime<Utc>,
}

/// A stream that a projector no longer follows.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize)]
pub struct ParkedStream {
    pub projector: String,
    pub stream_id: String,
    pub pos: i64,
    pub version: i64,
    #[sqlx(rename = "type")]
    pub kind: String,
    pub error: String,
    pub recorded_at: DateTime<Utc>,
}

/// The position of a projector; 0 if it never ran.
pub async fn position(pool: &PgPool, name: &str) -> Result<i64, Error> {
    Ok(store::position(pool, name).await?)
}

/// The last position of the log.
pub async fn head(pool: &PgPool) -> Result<i64, Error> {
    Ok(log::head(pool).await?)
}

/// Waits until the read models show position `pos`, for `deadline` at most.
pub async fn wait_for(pool: &PgPool, pos: i64, deadline: Duration) -> Result<(), Error> {
    let end = tokio::time::Instant::now() + deadline;
    let mut pause = Duration::from_millis(1);
    loop {
        let reached = position(pool, crate::READ_MODELS).await?;
        if reached >= pos {
            return Ok(());
        }
        if tokio::time::Instant::now() >= end {
            return Err(Error::Late {
                wanted: pos,
                reached,
            });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// How many connections the database takes, from everybody together.
pub async fn connections_max(pool: &PgPool) -> Result<i32, Error> {
    let most = sqlx::query_scalar("select current_setting('max_connections')::int");
    Ok(most.fetch_one(pool).await?)
}

/// All projectors.
pub async fn checkpoints(pool: &PgPool) -> Result<Vec<Checkpoint>, Error> {
    let rows = sqlx::query_as(
        "select name, version, pos, leader, epoch, updated_at,
                leader is not null and expires_at >= clock_timestamp() as is_led
         from dagapp.projection_checkpoints order by name",
    )
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// Streams that could not be followed any further.
pub async fn parked(pool: &PgPool) -> Result<Vec<ParkedStream>, Error> {
    let rows = sqlx::query_as(
        "select projector, stream_id, pos, version, type, error, recorded_at
         from dagapp.projection_errors order by pos limit 1000",
    )
    .fetch_all(pool)
    .await?;
    Ok(rows)
}
