//! Who may rebuild: one process at a time, which shows that it lives, can be asked to stop, and is replaced when it is dead.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::{Connection as _, PgPool};
use uuid::Uuid;

use super::{Outcome, RebuildError};
use crate::Error;
use crate::read_models::{NAME, VERSION};
use crate::store::checkpoints;
use crate::store::rebuilds::{self, Beat, Hold, Take, Taken};

/// A rebuild whose owner says nothing for so long is taken over,
const TTL: Duration = Duration::from_millis(2_500);
/// so the owner says something so often.
const BEAT: Duration = Duration::from_millis(500);
/// How often to ask whether another's rebuild is free.
const ASK: Duration = Duration::from_millis(250);

/// Stops the rebuild that is under way and clears it away; `false` if there is none. If somebody is at it, that one
/// is asked, and has `deadline` to do so.
pub async fn cancel(pool: &PgPool, deadline: Duration) -> Result<bool, RebuildError> {
    let end = tokio::time::Instant::now() + deadline;
    let mut found = false;
    while let Some(held) = rebuilds::ask_to_stop(pool, NAME)
        .await
        .map_err(Error::from)?
    {
        found = true;
        if !held && clear(pool, None).await? {
            break;
        }
        if tokio::time::Instant::now() >= end {
            return Err(RebuildError::Busy);
        }
        tokio::time::sleep(ASK).await;
    }
    Ok(found)
}

/// Drops what was made; `false` if somebody else is at it.
pub(super) async fn clear(pool: &PgPool, hold: Option<Hold>) -> Result<bool, RebuildError> {
    let mut db = pool.acquire().await.map_err(Error::from)?;
    let mut tx = db.begin().await.map_err(Error::from)?;
    let done = rebuilds::forget(&mut tx, NAME, hold)
        .await
        .map_err(Error::from)?;
    tx.commit().await.map_err(Error::from)?;
    Ok(done)
}

/// Waits as long as a dead owner counts as alive.
pub(super) async fn take(pool: &PgPool, owner: Uuid) -> Result<Taken, RebuildError> {
    let claim = checkpoints::Claim {
        name: NAME,
        version: VERSION,
        owner,
    };
    let found = checkpoints::ensure(pool, claim)
        .await
        .map_err(Error::from)?;
    if found > VERSION {
        return Err(RebuildError::Newer(found));
    }
    let end = tokio::time::Instant::now() + TTL + BEAT;
    loop {
        let mut db = pool.acquire().await.map_err(Error::from)?;
        let mut tx = db.begin().await.map_err(Error::from)?;
        let took = rebuilds::take(&mut tx, NAME, VERSION, owner, TTL).await;
        let took = match took.map_err(|error| RebuildError::Read(error.into())) {
            // A statement of whoever was killed has not ended yet.
            Err(error) if error.is_locked() => Take::Held,
            took => took?,
        };
        tx.commit().await.map_err(Error::from)?;
        match took {
            Take::Taken(taken) => return Ok(taken),
            Take::Newer(version) => return Err(RebuildError::Newer(version)),
            Take::Held if tokio::time::Instant::now() >= end => return Err(RebuildError::Busy),
            Take::Held => {}
        }
        tokio::time::sleep(ASK).await;
    }
}

/// Shows that the owner lives, until it is told that it need not.
pub(super) async fn alive(
    pool: &PgPool,
    hold: Hold,
    filled: Arc<AtomicI64>,
) -> Result<Outcome, RebuildError> {
    let mut beats = tokio::time::interval(BEAT);
    beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last = tokio::time::Instant::now();
    loop {
        beats.tick().await;
        match rebuilds::beat(pool, hold, filled.load(Ordering::Relaxed), TTL).await {
            Ok(Beat::Held) => last = tokio::time::Instant::now(),
            Ok(Beat::Cancelled) => return Ok(Outcome::Cancelled),
            // Finished at this moment, or taken over: `work` knows.
            Ok(Beat::Lost) if last.elapsed() < TTL => {}
            Ok(Beat::Lost) => return Err(RebuildError::Lost),
            Err(error) if last.elapsed() < TTL => {
                tracing::debug!(%error, "no sign of life was given")
            }
            Err(error) => return Err(Error::from(error).into()),
        }
    }
}
