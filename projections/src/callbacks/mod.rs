//! Callbacks: tells partners how their jobs ended (O-132, X-07).
//!
//! A projector turns requests and ends of jobs into rows of an outbox; senders, any number of them, claim
//! rows that are due, send them, and record what came of it. This is an effect, not a read model: it is
//! only ever resumed. Reading the log again from the start adds nothing and sends nothing, because a row
//! that is there is left as it is.
//!
//! Delivery is at least once with one id: the outcome is in the log before the row is settled, and a crash
//! in between repeats a delivery that its receiver knows by `webhook-id`.

mod body;
mod client;
pub mod guard;
mod projector;
mod recorder;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bus::Bus;
use domain::callback::{Backoff, BreakerPolicy, Settlement};
use futures_util::future::BoxFuture;
use sqlx::PgPool;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use body::BODY_BYTES_MAX;
pub use projector::NAME;

use self::guard::Rules;
use crate::follower;
use crate::projector::Runner;
use crate::run::projector_pool;

/// Connections of the projector, besides those of [`Options::pool`], of which senders take two.
pub const CONNECTIONS: u32 = 1;

/// The log, as far as senders write to it.
pub trait Ledger: Send + Sync + 'static {
    /// Records how callbacks ended. When it answers, each is in the log, or something that stands
    /// over it is.
    fn settle(&self, settled: Vec<Settlement>) -> BoxFuture<'_, Result<(), String>>;
}

/// What callbacks need to run.
#[derive(Clone)]
pub struct Options {
    pub pool: PgPool,
    pub bus: Bus,
    /// This start of this process.
    pub owner: Uuid,
    pub ledger: Arc<dyn Ledger>,
    /// Where the API is reached from outside, without a slash at its end.
    pub base_url: String,
    /// Which addresses may be called.
    pub rules: Rules,
    pub backoff: Backoff,
    pub breaker: BreakerPolicy,
    /// Deliveries under way at once, in this process,
    pub concurrency: usize,
    /// and to one endpoint: what a slow receiver can take of it.
    pub per_endpoint: usize,
    /// How long after its time-out a delivery is taken for lost, with its sender.
    pub slack: Duration,
    /// How long deliveries under way may take when the process ends.
    pub grace: Duration,
}

impl Options {
    /// With the limits of production.
    #[must_use]
    pub fn new(
        pool: PgPool,
        bus: Bus,
        owner: Uuid,
        ledger: Arc<dyn Ledger>,
        base_url: String,
    ) -> Self {
        Self {
            pool,
            bus,
            owner,
            ledger,
            base_url,
            rules: Rules::default(),
            backoff: Backoff::default(),
            breaker: BreakerPolicy::default(),
            concurrency: 1_024,
            per_endpoint: 24,
            slack: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

/// Follows the log and sends, until it is told to stop; errors only slow it down.
pub async fn run(options: Options, shutdown: CancellationToken) {
    let (grown, due) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let pool = projector_pool(&options.pool, CONNECTIONS);
    let runner = Runner::new(
        projector::Callbacks::new(Arc::clone(&due)),
        pool.clone(),
        options.owner,
        Arc::clone(&grown),
    );
    let bus = options.bus.clone();
    let sender = match sender::Sender::new(options, due) {
        Ok(sender) => sender,
        Err(error) => {
            tracing::error!(%error, "no callbacks are sent: the HTTP client cannot be made");
            return;
        }
    };
    let projecting = async {
        // It is an effect: never rebuilt, so it only ends when it is stopped.
        let _ = runner.run(shutdown.clone()).await;
    };
    tokio::join!(
        projecting,
        follower::listen(bus, grown, shutdown.clone()),
        sender.run(shutdown.clone()),
    );
    pool.close().await;
}
