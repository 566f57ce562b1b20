//! `strata api`: answers portals, partners and the command line over HTTP. Any number may run.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use api::ops::{self, LAG_EVENTS_MAX, Ops, fleet::Fleet, sampler};
use api::{App, Blobs};
use bus::Bus;
use bytes::Bytes;
use clap::Args;
use domain::event::checkpoint::PublicKey;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use workers::store::{Store, StoreError};

use super::args::ApiArgs;
use super::audit::AuditKeyArgs;
use super::budget::Budget;
use super::callbacks::CallbackArgs;
use super::migrate;
use super::stack::{Stack, Write};
use crate::audit::args::public_key;
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::{logging, runtime};

/// Where it listens, unless somebody else does.
const PORT: u16 = 8080;

/// How the API is reached.
#[derive(Debug, Clone, Args)]
pub(crate) struct Face {
    /// Where the API listens [default: 127.0.0.1:8080, or any free port if that is taken]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// An origin whose pages may call the API from a browser; may be given several times
    #[arg(long = "cors-origin", value_name = "ORIGIN")]
    pub(crate) cors_origins: Vec<String>,
    /// Requests per second of one key, 0 for no limit; bursts may be four times that
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) rate_limit: u32,
    /// Who signs checkpoints of the log, as its public key or a file with it: proofs of jobs are checked with it [default: that of
    /// the data directory]
    #[arg(long, value_name = "KEY", env = "STRATA_PROOF_KEY", value_parser = public_key, hide_short_help = true)]
    pub(crate) proof_key: Option<PublicKey>,
}

impl Face {
    /// The key that is named, else that of the data directory, if it has one.
    fn audit_key(&self, data_dir: &Path) -> anyhow::Result<Option<PublicKey>> {
        if self.proof_key.is_some() {
            return Ok(self.proof_key.clone());
        }
        let own = AuditKeyArgs { audit_key: None }.find(data_dir)?;
        Ok(own.map(|key| key.public()))
    }
}

pub(crate) fn run(args: &ApiArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init(&args.stack.log);
    let stack = Stack::find(&args.stack)?;
    runtime::block_on(|stop| async move {
        migrate::require(&stack).await?;
        let bus = stack.bus("api").await?;
        let budget = Budget::API;
        let write = stack.write(&budget, Some(bus.clone())).await?;
        budget.announce(&write.pool).await;
        let store = stack.store(&args.store)?;
        let key = args.face.audit_key(&args.stack.data_dir)?;
        let serving = start(&args.face, key, &args.callbacks, &write, bus, store, &stop).await?;
        console.talk(&format!("the API answers on {}", serving.url))?;
        let ended = tokio::select! {
            () = stop.cancelled() => Ok(Exit::Ok),
            () = super::orchestrator::ended(&serving.task) => {
                Err(anyhow::anyhow!("the API ended by itself, which is a fault of Strata"))
            }
        };
        serving.stop().await;
        write.stop().await;
        ended
    })
}

/// A running API.
pub(crate) struct Serving {
    /// Where it is reached from this machine.
    pub(crate) url: String,
    /// And from everywhere else.
    pub(crate) public_url: String,
    pub(crate) task: JoinHandle<()>,
    stop: CancellationToken,
}

/// Begins to listen and to answer. From `leaving` on it is not ready.
pub(crate) async fn start(
    face: &Face,
    audit_key: Option<PublicKey>,
    callbacks: &CallbackArgs,
    write: &Write,
    bus: Bus,
    store: Store,
    leaving: &CancellationToken,
) -> anyhow::Result<Serving> {
    let listener = listen(face.listen).await?;
    let bound = listener.local_addr()?;
    let url = format!("http://{}", reachable(bound));
    let metrics = ops::install().map_err(|error| Stop::failed(error.to_string(), ""))?;
    let stop = CancellationToken::new();
    let fleet = Fleet::listen(bus.clone(), stop.clone());
    sampler::start(write.pool.clone(), bus.clone(), fleet.clone(), stop.clone());
    let watched = ops::Options {
        pool: Some(write.pool.clone()),
        bus: Some(bus),
        read_models: true,
        lag_events_max: LAG_EVENTS_MAX,
        metrics,
    };
    let watched = Ops::start(watched, leaving.clone());
    let public_url = callbacks.public_url.clone();
    let public_url = public_url.unwrap_or_else(|| url.clone());
    let options = api::Options {
        public_url: public_url.clone(),
        callback_rules: callbacks.rules(),
        audit_key,
        cors_origins: face.cors_origins.clone(),
        rate_per_second: Some(face.rate_limit).filter(|rate| *rate > 0),
        ..api::Options::default()
    };
    let blobs = Arc::new(StoreBlobs(store));
    let app = App::new(
        write.writer.clone(),
        write.pool.clone(),
        blobs,
        fleet,
        options,
    );
    let task = tokio::spawn(api::serve(listener, app, watched, stop.clone()));
    tracing::info!(address = %bound, "the API answers");
    Ok(Serving {
        url,
        public_url,
        task,
        stop,
    })
}

impl Serving {
    /// Ends it; subscriptions are cut.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        // It ends by itself within seconds.
        let _ = self.task.await;
    }
}

async fn listen(wanted: Option<SocketAddr>) -> anyhow::Result<TcpListener> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let address = wanted.unwrap_or(usual);
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if wanted.is_none() => {
            tracing::info!(%error, "{usual} is taken; the API takes a free port");
            Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?)
        }
        Err(error) => {
            let message = format!("--listen {address}: {error}");
            Err(Stop::conflict(
                message,
                "choose another address, or port 0 for any",
            ))
        }
    }
}

/// An address that listens everywhere is reached from here by the loopback.
fn reachable(bound: SocketAddr) -> SocketAddr {
    if bound.ip().is_unspecified() {
        return SocketAddr::from((Ipv4Addr::LOCALHOST, bound.port()));
    }
    bound
}

/// What workers wrote, out of the object store.
struct StoreBlobs(Store);

impl Blobs for StoreBlobs {
    fn get<'a>(
        &'a self,
        path: &'a str,
        max: usize,
    ) -> BoxFuture<'a, Result<Option<Bytes>, String>> {
        Box::pin(async move {
            // Asked first: an object that somebody else put there may be of any size.
            let size = self.0.head(path).await.map_err(|error| error.to_string())?;
            let Some(size) = size else { return Ok(None) };
            if usize::try_from(size).map_or(true, |size| size > max) {
                return Err(format!(
                    "the object has {size} bytes; at most {max} are read"
                ));
            }
            match self.0.get(path).await {
                Ok(bytes) => Ok(Some(bytes)),
                Err(StoreError::Missing { .. }) => Ok(None),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}
