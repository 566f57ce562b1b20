//! Everything together, as a process runs it.

use std::sync::Arc;
use std::time::Duration;

use bus::Bus;
use domain::handler::Catalog;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::notary::{self, Notary};
use crate::projector::{End, Runner};
use crate::read_models::ReadModels;
use crate::rebuild::{self, Outcome, RebuildError};
use crate::{dead_letters, follower, travel};

/// Connections of the projector itself.
const RUNNER_CONNECTIONS: u32 = 2;
/// Connections of whoever signs.
const NOTARY_CONNECTIONS: u32 = 1;
/// Connections of a projector, besides those of [`Options::pool`]; most of them only while it rebuilds.
pub const PROJECTOR_CONNECTIONS: u32 =
    RUNNER_CONNECTIONS + NOTARY_CONNECTIONS + rebuild::CONNECTIONS;
/// How long to wait before a rebuild is tried again.
const REBUILD_AGAIN: Duration = Duration::from_secs(1);

/// What the read side needs to run.
#[derive(Debug, Clone)]
pub struct Options {
    pub pool: PgPool,
    pub bus: Bus,
    /// This start of this process.
    pub owner: Uuid,
    /// The handlers that workflows may name.
    pub catalog: Arc<Catalog>,
    /// What checkpoints are signed with; without it there are none.
    pub notary: Option<Arc<notary::Options>>,
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
            notary: None,
        }
    }
}

/// Projects, and collects dead letters, until it is told to stop; errors only slow it down.
pub async fn run(options: Options, shutdown: CancellationToken) {
    let wake = Arc::new(Notify::new());
    let (pool, catalog) = (options.pool.clone(), Arc::clone(&options.catalog));
    tokio::join!(
        sign(&options, &shutdown),
        project(&options, &wake, &shutdown),
        follower::listen(options.bus.clone(), Arc::clone(&wake), shutdown.clone()),
        travel::keep(pool.clone(), catalog, shutdown.clone()),
        dead_letters::collect(options.bus.clone(), pool, shutdown.clone()),
    );
}

/// Signs checkpoints, if there is a key.
async fn sign(options: &Options, shutdown: &CancellationToken) {
    let Some(notary) = options.notary.clone() else {
        return;
    };
    let pool = projector_pool(&options.pool, NOTARY_CONNECTIONS);
    let notary = Notary::new(notary, pool.clone(), options.owner);
    notary.run(shutdown.clone()).await;
    pool.close().await;
}

/// Projects; tables of an older build are rebuilt first, while everybody reads them.
async fn project(options: &Options, wake: &Arc<Notify>, shutdown: &CancellationToken) {
    let pool = projector_pool(&options.pool, RUNNER_CONNECTIONS);
    loop {
        let models = ReadModels::new(Arc::clone(&options.catalog));
        let runner = Runner::new(models, pool.clone(), options.owner, Arc::clone(wake));
        match runner.run(shutdown.clone()).await {
            End::Stopped => break,
            End::Outdated => renew(options, shutdown).await,
        }
    }
    pool.close().await;
}

/// Rebuilds tables of an older version, or waits for whoever is at it.
async fn renew(options: &Options, shutdown: &CancellationToken) {
    tracing::info!(
        version = crate::READ_MODELS_VERSION,
        "the read models are of an older build; they are rebuilt while the old ones are read"
    );
    let wanted = rebuild::Options {
        keep_when_stopped: true,
        ..rebuild::Options::new(
            options.pool.clone(),
            options.owner,
            Arc::clone(&options.catalog),
        )
    };
    let (progress, _) = watch::channel(rebuild::Progress::default());
    match rebuild::run(wanted, progress, shutdown.clone()).await {
        Ok(Outcome::Switched { .. } | Outcome::Stopped) => return,
        Err(RebuildError::Busy) => tracing::debug!("another process rebuilds the read models"),
        Ok(ended) => tracing::warn!(
            ?ended,
            "the read models were not rebuilt; they still are old"
        ),
        Err(error) => {
            tracing::warn!(error = %error.chain(), "the read models were not rebuilt; it is tried again");
        }
    }
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = tokio::time::sleep(REBUILD_AGAIN) => {}
    }
}

/// Connections with the settings that projectors want.
///
/// A process that is stopped in the middle of a transaction must not hold the checkpoint for ever.
/// Commits need not wait for the disk: rows and checkpoint are lost together or not at all. All
/// statements find their rows by key, whatever the planner thinks of an empty table. Nothing is asked before a
/// connection is used: one that is broken only makes a projector stumble once.
pub(crate) fn projector_pool(pool: &PgPool, connections: u32) -> PgPool {
    pool_on(pool, connections, "dagapp")
}

/// The same, with the schemas in which read models are looked for. A long statement of a process that was killed ends with it.
pub(crate) fn pool_on(pool: &PgPool, connections: u32, schemas: &str) -> PgPool {
    let options = pool.connect_options().as_ref().clone().options([
        ("search_path", schemas),
        ("client_connection_check_interval", "1s"),
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
