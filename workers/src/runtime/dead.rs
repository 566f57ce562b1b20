//! Messages that nobody can read leave the queue with their reason.

use std::time::Duration;

use async_nats::jetstream::AckKind;
use async_nats::jetstream::message::Acker;
use async_nats::{Message, Request};
use bytes::Bytes;
use domain::message::DeadLetter;

use super::Worker;

/// How long whoever keeps dead letters may take to answer.
const KEEP_TIMEOUT: Duration = Duration::from_secs(2);
/// When nobody keeps dead letters now, the message waits in its queue.
const NOBODY_DELAY: Duration = Duration::from_secs(10);

/// Hands a message to whoever keeps dead letters and takes it out of its queue.
///
/// Unless somebody says that it is kept, it stays in the queue, so that it is not lost without a trace.
pub(super) async fn bury(worker: &Worker, message: &Message, acker: &Acker, reason: &str) {
    let letter = DeadLetter::new(&message.subject, reason, &message.payload);
    tracing::error!(
        subject = letter.subject,
        reason,
        size_bytes = letter.size_bytes,
        "a message breaks the contract: dead letter"
    );
    let payload = serde_json::to_vec(&letter).unwrap_or_default();
    let request = Request::new()
        .payload(Bytes::from(payload))
        .timeout(Some(KEEP_TIMEOUT));
    let subject = worker.bus.subjects.dead_letters();
    let sent = worker.bus.client.send_request(subject, request).await;
    let kind = match sent.map_err(|error| error.kind()) {
        Ok(_) => AckKind::Term,
        Err(error) => {
            tracing::warn!(%error, "nobody has kept the dead letter: the message waits");
            AckKind::Nak(Some(NOBODY_DELAY))
        }
    };
    if let Err(error) = acker.ack_with(kind).await {
        tracing::debug!(%error, "a dead letter was not acknowledged");
    }
}
