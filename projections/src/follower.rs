//! Follows the log: reads `pos > cursor` in short transactions, woken by hints and by the clock.
//!
//! A hint only saves waiting; everything works without NATS, a quarter of a second later.

use std::sync::Arc;
use std::time::Duration;

use bus::Bus;
use futures_util::StreamExt as _;
use sqlx::PgPool;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::store::log;

pub use crate::store::log::Entry;

/// How long to wait for a hint before looking anyway.
const POLL_EVERY: Duration = Duration::from_millis(250);
/// Events of one read, at most.
pub const BATCH_EVENTS_MAX: i64 = crate::projector::BATCH_EVENTS_MAX;

/// A reader of the log with its own cursor.
#[derive(Debug)]
pub struct Follower {
    pool: PgPool,
    wake: Arc<Notify>,
    cursor: i64,
}

impl Follower {
    /// Starts after `cursor`.
    #[must_use]
    pub fn new(pool: PgPool, wake: Arc<Notify>, cursor: i64) -> Self {
        Self { pool, wake, cursor }
    }

    /// The last position that was handed out.
    #[must_use]
    pub fn cursor(&self) -> i64 {
        self.cursor
    }

    /// The next events, as soon as there are any. Waits out errors of the database.
    pub async fn next(&mut self) -> Vec<Entry> {
        let mut backoff = Duration::from_millis(50);
        loop {
            match log::after(&self.pool, self.cursor, BATCH_EVENTS_MAX).await {
                Ok(batch) if batch.is_empty() => {
                    let _ = tokio::time::timeout(POLL_EVERY, self.wake.notified()).await;
                }
                Ok(batch) => {
                    self.cursor = batch.last().map_or(self.cursor, |entry| entry.pos);
                    return batch;
                }
                Err(error) => {
                    tracing::warn!(%error, "the log cannot be read");
                    backoff = (backoff * 2).min(Duration::from_secs(2));
                    tokio::time::sleep(backoff).await;
                }
            }
        }
    }
}

/// Wakes whoever waits when somebody says that the log has grown, until it is told to stop.
pub async fn listen(bus: Bus, wake: Arc<Notify>, shutdown: CancellationToken) {
    while !shutdown.is_cancelled() {
        match bus.client.subscribe(bus.subjects.log_grew()).await {
            Ok(mut hints) => loop {
                let hint = tokio::select! {
                    () = shutdown.cancelled() => return,
                    hint = hints.next() => hint,
                };
                if hint.is_none() {
                    break;
                }
                wake.notify_one();
            },
            Err(error) => tracing::debug!(%error, "no hints; polling goes on"),
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}
