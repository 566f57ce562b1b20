//! Everything together, as a process runs it.

use std::sync::Arc;
use std::time::Duration;

use bus::Bus;
use domain::handler::Catalog;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::projector::Runner;
use crate::read_models::ReadModels;
use crate::{dead_letters, follower, travel};

/// Connections of a projector, besides those of [`Options::pool`].
pub const PROJECTOR_CONNECTIONS: u32 = 2;

/// What the read side needs to run.
#[derive(Debug, Clone)]
pub struct Options {
    pub pool: PgPool,
    pub bus: Bus,
    /// This start of this process.
    pub owner: Uuid,
    /// The handlers that workflows may name.
    pub catalog: Arc<Catalog>,
}

impl Options {
    /// With the handlers that ship with Strata.
    #[must_use]
    pub fn new(pool: PgPool, bus: Bus, owner: Uuid) -> Self {
        Self {
            pool,
            bus,
            owner,
            catalog: Arc::new(Catalog::shipped()),
        }
    }
}

/// Projects, and collects dead letters, until it is told to stop; errors only slow it down.
pub async fn run(options: Options, shutdown: CancellationToken) {
    let wake = Arc::new(Notify::new());
    let pool = projector_pool(&options.pool, PROJECTOR_CONNECTIONS);
    let catalog = Arc::clone(&options.catalog);
    let runner = Runner::new(
        ReadModels::new(options.catalog),
        pool.clone(),
        options.owner,
        Arc::clone(&wake),
    );
    tokio::join!(
        runner.run(shutdown.clone()),
        follower::listen(options.bus.clone(), wake, shutdown.clone()),
        travel::keep(options.pool.clone(), catalog, shutdown.clone()),
        dead_letters::collect(options.bus, options.pool, shutdown),
    );
    pool.close().await;
}

/// Connections with the settings that projectors want.
///
/// A process that is stopped in the middle of a transaction must not hold the checkpoint for ever.
/// Commits need not wait for the disk: rows and checkpoint are lost together or not at all. All
/// statements find their rows by key, whatever the planner thinks of an empty table. Nothing is asked before a
/// connection is used: one that is broken only makes a projector stumble once.
pub(crate) fn projector_pool(pool: &PgPool, connections: u32) -> PgPool {
    let options = pool.connect_options().as_ref().clone().options([
        ("idle_in_transaction_session_timeout", "5s"),
        ("lock_timeout", "5s"),
        ("statement_timeout", "60s"),
        ("synchronous_commit", "off"),
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
        ("jit", "off"),
    ]);
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(10))
        .test_before_acquire(false)
        .connect_lazy_with(options)
}
