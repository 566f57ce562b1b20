//! What may be archived, and what stands in the way.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgPool;

use super::{ArchiveError, CARRIED, Part};
use crate::store::{archives, log, partitions};

/// Streams that are named as being in the way, and streams that are carried in one go.
const NAMED_MAX: i64 = 500;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is old enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cutoff {
    /// Everything before this position.
    Pos(i64),
    /// Everything that was recorded at this time or before it.
    Time(DateTime<Utc>),
}

/// A stream, or a reader of the log, that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Held {
    pub name: String,
    pub why: String,
}

/// Whether one partition may be archived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Streams that live on and have to be carried first; some of them, if there are many.
    pub carry: Vec<String>,
    /// What stands in the way, as far as it is named, and how much it is.
    pub held: Vec<Held>,
    pub held_count: i64,
}

/// The last position that is old enough.
pub async fn cutoff(pool: &PgPool, wanted: Cutoff) -> Result<i64, ArchiveError> {
    let head = log::head(pool).await?;
    Ok(match wanted {
        Cutoff::Pos(pos) => (pos - 1).min(head),
        Cutoff::Time(at) => archives::pos_at(pool, at).await?.min(head),
    })
}

/// The partitions behind what is archived that are wholly old enough, in order.
pub async fn candidates(pool: &PgPool, cutoff: i64) -> Result<Vec<Part>, ArchiveError> {
    let mut next = archives::floor(pool).await? + 1;
    let mut found = Vec::new();
    for part in partitions::attached(pool).await? {
        if part.first_pos == next && part.last_pos <= cutoff {
            next = part.last_pos + 1;
            found.push(part);
        }
    }
    Ok(found)
}

/// What has to be done before a partition may be archived, and what cannot be done.
pub async fn plan(pool: &PgPool, part: &Part, cutoff: i64) -> Result<Plan, ArchiveError> {
    let mut db = pool.acquire().await?;
    let range = (part.first_pos, part.last_pos);
    let standing = archives::standing(&mut db, range, cutoff, CARRIED, NAMED_MAX).await?;
    let mut plan = Plan::default();
    for one in standing {
        let why = match one.why.as_str() {
            "carry" => {
                plan.carry.push(one.stream_id);
                continue;
            }
            "late" => "it ended too lately",
            _ => "it has not ended",
        };
        if plan.held.iter().all(|held| held.why != why) {
            plan.held_count += one.total;
        }
        plan.held.push(Held {
            name: one.stream_id,
            why: why.to_owned(),
        });
    }
    Ok(plan)
}

/// Waits until everybody who reads the log has come to a position; the answer is who has not.
pub async fn wait_for_readers(
    pool: &PgPool,
    pos: i64,
    patience: Duration,
) -> Result<Vec<Held>, ArchiveError> {
    let end = tokio::time::Instant::now() + patience;
    loop {
        let behind = archives::behind(pool, pos).await?;
        if behind.is_empty() || tokio::time::Instant::now() >= end {
            let held = |(name, at)| Held {
                name,
                why: format!("it is at position {at} of the log, and has to come to {pos}"),
            };
            return Ok(behind.into_iter().map(held).collect());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
