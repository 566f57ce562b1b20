//! Messages that nobody could make sense of: kept with the reason, until somebody looks.

use std::time::Duration;

use bus::Bus;
use bytes::Bytes;
use domain::message::DeadLetter as Letter;
use futures_util::StreamExt as _;
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::store::dead_letters as store;

pub use crate::store::dead_letters::DeadLetter;

/// So many are kept, the newest.
pub const KEPT_MAX: i64 = 10_000;

/// Keeps a message and returns its id.
pub async fn insert(pool: &PgPool, letter: &Letter) -> Result<i64, Error> {
    let payload = letter.payload.as_bytes();
    let kept = payload.get(..Letter::PAYLOAD_BYTES_MAX).unwrap_or(payload);
    let size_bytes = i64::try_from(letter.size_bytes).unwrap_or(i64::MAX);
    let (subject, reason) = (&letter.subject, &letter.reason);
    Ok(store::insert(pool, subject, reason, kept, size_bytes, KEPT_MAX).await?)
}

/// The newest first; `before` is the id of the last one of the page before.
pub async fn list(
    pool: &PgPool,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<DeadLetter>, Error> {
    Ok(store::list(pool, before, limit.clamp(1, 1_000)).await?)
}

/// One of them.
pub async fn show(pool: &PgPool, id: i64) -> Result<Option<DeadLetter>, Error> {
    Ok(store::find(pool, id).await?)
}

/// Removes one; `false` if it is not there.
pub async fn discard(pool: &PgPool, id: i64) -> Result<bool, Error> {
    Ok(store::discard(pool, id).await?)
}

/// Keeps what is sent to the subject of dead letters, until it is told to stop.
///
/// Processes share the work: a notice goes to one of them.
pub async fn collect(bus: Bus, pool: PgPool, shutdown: CancellationToken) {
    while !shutdown.is_cancelled() {
        let subject = bus.subjects.dead_letters();
        let subscribed = bus
            .client
            .queue_subscribe(subject, "dead-letters".to_owned())
            .await;
        match subscribed {
            Ok(mut messages) => loop {
                let message = tokio::select! {
                    () = shutdown.cancelled() => return,
                    message = messages.next() => message,
                };
                let Some(message) = message else { break };
                if keep(&pool, message.subject.as_str(), &message.payload).await
                    && let Some(to) = message.reply
                {
                    // Whoever asks may now let go of the message.
                    let _ = bus.client.publish(to, Bytes::from_static(b"kept")).await;
                }
            },
            Err(error) => tracing::warn!(%error, "cannot listen for dead letters"),
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}

async fn keep(pool: &PgPool, subject: &str, payload: &[u8]) -> bool {
    let letter = serde_json::from_slice(payload).unwrap_or_else(|error| {
        Letter::new(subject, &format!("not a dead letter: {error}"), payload)
    });
    match insert(pool, &letter).await {
        Ok(_) => true,
        Err(error) => {
            tracing::error!(error = %error.chain(), reason = letter.reason, "a dead letter was not kept");
            false
        }
    }
}
