//! Messages that nobody can make sense of are put aside, with the reason.

use bus::Bus;
use domain::message::DeadLetter;

/// Puts a message aside.
pub async fn send(bus: &Bus, subject: &str, reason: &str, payload: &[u8]) {
    tracing::warn!(subject, reason, size_bytes = payload.len(), "dead letter");
    let letter = DeadLetter::new(subject, reason, payload);
    bus.hint(bus.subjects.dead_letters(), &letter).await;
}
