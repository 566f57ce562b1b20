//! `--ops-listen`: where a process says whether it is alive and ready, and what it measures.

use std::net::SocketAddr;

use api::ops::{self, LAG_EVENTS_MAX, Ops, fleet::Fleet, sampler};
use bus::Bus;
use clap::Args;
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::exit::Stop;

#[derive(Debug, Clone, Args)]
pub(crate) struct OpsArgs {
    /// Serve /livez, /readyz and /metrics of this process on IP:PORT
    #[arg(long, value_name = "ADDR")]
    pub(crate) ops_listen: Option<SocketAddr>,
}

/// What there is to say something about.
#[derive(Default)]
pub(super) struct Subject {
    pub(super) pool: Option<PgPool>,
    pub(super) bus: Option<Bus>,
    /// Whether it is not ready while the read models are far behind.
    pub(super) read_models: bool,
    /// Whether it also shows what no single process knows.
    pub(super) samples: bool,
}

/// The routes, while they are served.
pub(super) struct Served {
    serving: JoinHandle<()>,
    stop: CancellationToken,
}

/// Serves the routes if an address is given. From `leaving` on the process is not ready, and says so until
/// [`Served::stop`].
pub(super) async fn serve(
    args: &OpsArgs,
    subject: Subject,
    leaving: &CancellationToken,
) -> anyhow::Result<Option<Served>> {
    let Some(address) = args.ops_listen else {
        return Ok(None);
    };
    let refused = |reason: String| {
        let message = format!("--ops-listen {address}: {reason}");
        Stop::conflict(message, "choose another address, or port 0")
    };
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| refused(error.to_string()))?;
    let bound = listener
        .local_addr()
        .map_err(|error| refused(error.to_string()))?;
    let metrics = ops::install().map_err(|error| refused(error.to_string()))?;
    let stop = CancellationToken::new();
    if let (true, Some(pool), Some(bus)) = (subject.samples, &subject.pool, &subject.bus) {
        let fleet = Fleet::listen(bus.clone(), stop.clone());
        sampler::start(pool.clone(), bus.clone(), fleet, stop.clone());
    }
    let options = ops::Options {
        pool: subject.pool,
        bus: subject.bus,
        read_models: subject.read_models,
        lag_events_max: LAG_EVENTS_MAX,
        metrics,
    };
    let watched = Ops::start(options, leaving.clone());
    let serving = tokio::spawn(ops::serve(listener, watched, stop.clone()));
    tracing::info!(%address, "health and metrics on http://{bound}");
    Ok(Some(Served { serving, stop }))
}

impl Served {
    /// Ends it, when there is nothing left to say.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        // It ends by itself within seconds, and never panics.
        let _ = self.serving.await;
    }
}

/// The same for a process that may serve nothing.
pub(super) async fn stop(served: Option<Served>) {
    if let Some(served) = served {
        served.stop().await;
    }
}
