//! Hints that the log has grown. A hint only saves waiting; everything works without NATS, a quarter of a
//! second later.

use std::sync::Arc;
use std::time::Duration;

use bus::Bus;
use futures_util::StreamExt as _;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Wakes whoever waits when somebody says that the log has grown, until it is told to stop.
pub(crate) async fn listen(bus: Bus, wake: Arc<Notify>, shutdown: CancellationToken) {
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
