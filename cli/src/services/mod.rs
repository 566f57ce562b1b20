//! Local services: a private PostgreSQL and a private NATS below a data directory, or those that
//! others run.
//!
//! A service that is named by an address is only checked; Strata never falls back to its own. What
//! Strata starts is supervised by [`Services`], keeps its port and password from start to start, and
//! is found again by the next start if this process is killed.

mod context;
pub(crate) mod files;
pub mod find;
mod folder;
mod nats;
mod postgres;
pub(crate) mod probe;
mod process;
mod redact;
mod shared;
mod supervise;
mod user;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::exit::{Exit, Stop};
pub use bus::connect_nats;
pub(crate) use context::from_env;
pub use context::{Context, DATABASE_URL, NATS_URL};
use folder::{Folder, Lock};
use nats::Nats;
use postgres::Postgres;
use probe::Silence;
pub(crate) use process::end_all;
use process::{Ending, Spec, Started};
pub use redact::redact;
pub use shared::{shared, stop_shared};
use supervise::{NotUp, Supervised};
use user::User;

/// Starts of a service that ends before it answers: somebody took its port in that moment, or what
/// a killed one left is still going away.
const START_TRIES: u32 = 5;
/// How long to wait before the next of them, times their number.
const START_PAUSE: Duration = Duration::from_millis(200);
const CONNECTIONS: u32 = 100;

/// What to start, and where.
#[derive(Debug, Clone)]
pub struct Options {
    pub data_dir: PathBuf,
    /// A database that others run; a private one if not given.
    pub database_url: Option<String>,
    /// A NATS server that others run; a private one if not given.
    pub nats_url: Option<String>,
    pub durability: Durability,
    /// Connections that the private database takes.
    pub max_connections: u32,
}

/// What a commit of the private database outlives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A crash of the machine.
    Machine,
    /// A crash of PostgreSQL, but not of the machine. Faster, and enough for tests.
    Process,
}

/// Services that run; stop them with [`Services::stop`].
#[derive(Debug)]
pub struct Services {
    database_url: String,
    nats_url: String,
    data_dir: PathBuf,
    running: Vec<Supervised>,
    /// Given up last, when nothing runs any more.
    _lock: Lock,
}

impl Options {
    /// Private services below a data directory.
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            database_url: None,
            nats_url: None,
            durability: Durability::Machine,
            max_connections: CONNECTIONS,
        }
    }

    /// The services that the environment names, and private ones for the rest.
    #[must_use]
    pub fn from_env(data_dir: &Path) -> Self {
        Self {
            database_url: from_env(DATABASE_URL),
            nats_url: from_env(NATS_URL),
            ..Self::new(data_dir)
        }
    }
}

impl Services {
    /// Starts what is not named by an address, and waits until everything answers. A cancelled
    /// `stop` ends the waiting. After an error nothing runs.
    pub async fn start(options: &Options, stop: &CancellationToken) -> anyhow::Result<Self> {
        let folder = open_folder(&options.data_dir)?;
        let lock = folder.lock(Duration::ZERO).await?;
        let mut services = Self {
            database_url: String::new(),
            nats_url: String::new(),
            data_dir: folder.path.clone(),
            running: Vec::new(),
            _lock: lock,
        };
        // What others run first: it is quick to check.
        if let Some(url) = &options.database_url {
            let look = probe::postgres(url);
            probe::external("the database", DATABASE_URL, url, look).await?;
            services.database_url.clone_from(url);
        }
        if let Some(url) = &options.nats_url {
            probe::external("NATS", NATS_URL, url, probe::nats(url)).await?;
            services.nats_url.clone_from(url);
        }
        match services.start_private(&folder, options, stop).await {
            Ok(()) => Ok(services),
            Err(error) => {
                services.stop().await;
                Err(error)
            }
        }
    }

    async fn start_private(
        &mut self,
        folder: &Folder,
        options: &Options,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        if options.database_url.is_none() {
            let (postgres, started) = start_postgres(folder, options, stop).await?;
            tracing::info!(port = postgres.port, "postgres runs");
            self.running.push(Supervised::new(postgres.spec, started));
            self.database_url = postgres.url;
        }
        if options.nats_url.is_none() {
            let (nats, started) = start_nats(folder, stop).await?;
            tracing::info!(port = nats.port, "nats runs");
            self.running.push(Supervised::new(nats.spec, started));
            self.nats_url = nats.url;
        }
        self.context().write(&self.data_dir)
    }

    /// The address of the database, with its password.
    #[must_use]
    pub fn database_url(&self) -> &str {
        &self.database_url
    }

    /// The address of NATS, with its password.
    #[must_use]
    pub fn nats_url(&self) -> &str {
        &self.nats_url
    }

    /// What `context.json` says now; write it again with more in it when more runs.
    #[must_use]
    pub fn context(&self) -> Context {
        Context {
            database_url: self.database_url.clone(),
            nats_url: self.nats_url.clone(),
            url: None,
            key: None,
            catalog_url: None,
        }
    }

    /// Waits until a service is given up, which ends only by an error.
    pub async fn failure(&self) -> anyhow::Error {
        let waits = self.running.iter().map(|one| Box::pin(one.given_up()));
        let waits: Vec<_> = waits.collect();
        if waits.is_empty() {
            std::future::pending::<()>().await;
        }
        let (why, ..) = futures_util::future::select_all(waits).await;
        Stop::unreachable(why, "strata doctor")
    }

    /// Stops what was started, and waits for it.
    pub async fn stop(mut self) {
        Context::remove(&self.data_dir);
        let stops = self.running.drain(..).map(Supervised::stop);
        futures_util::future::join_all(stops).await;
    }
}

/// The data directory, such that the user of the database gets through.
fn open_folder(data_dir: &Path) -> anyhow::Result<Folder> {
    let drops = User::to_drop_to(&data_dir.join("postgres"))?.is_some();
    Folder::open(data_dir, drops)
}

async fn start_postgres(
    folder: &Folder,
    options: &Options,
    stop: &CancellationToken,
) -> anyhow::Result<(Postgres, Started)> {
    let prepare = || {
        let (folder, options) = (folder.clone(), options.clone());
        move || Postgres::prepare(&folder, &options)
    };
    end_leftover(&Postgres::ending(folder)).await;
    bring_up(prepare, |one| &one.spec, Postgres::look, stop).await
}

async fn start_nats(folder: &Folder, stop: &CancellationToken) -> anyhow::Result<(Nats, Started)> {
    let prepare = || {
        let folder = folder.clone();
        move || Nats::prepare(&folder)
    };
    end_leftover(&Nats::ending(folder)).await;
    bring_up(prepare, |one| &one.spec, Nats::look, stop).await
}

/// Before the service is prepared: what is left holds the port that is kept for it.
async fn end_leftover(ending: &Ending) {
    if ending.end_leftover().await {
        tracing::warn!(
            service = ending.name,
            "ended what a killed process left running"
        );
    }
}

/// Prepares a service and starts it. Each try prepares anew: a port that somebody else has is
/// replaced.
async fn bring_up<S, P>(
    prepare: impl Fn() -> P,
    spec: impl Fn(&S) -> &Spec,
    look: impl AsyncFn(&S) -> Result<(), Silence>,
    stop: &CancellationToken,
) -> anyhow::Result<(S, Started)>
where
    S: Send + 'static,
    P: FnOnce() -> anyhow::Result<S> + Send + 'static,
{
    let mut tries = 0;
    loop {
        tries += 1;
        // It runs programs and waits for them.
        let service = tokio::task::spawn_blocking(prepare()).await??;
        let up = supervise::bring_up(spec(&service), async || look(&service).await, stop).await;
        match up {
            Ok(started) => return Ok((service, started)),
            Err(NotUp::Failed(error)) => return Err(error),
            Err(NotUp::Ended(why)) if tries == START_TRIES => {
                return Err(Stop::unreachable(why, "strata doctor"));
            }
            Err(NotUp::Ended(why)) => tracing::debug!("{why}; trying again"),
        }
        tokio::select! {
            () = stop.cancelled() => {
                return Err(Stop::with(Exit::Interrupted, "interrupted while starting", ""));
            }
            () = tokio::time::sleep(START_PAUSE * tries) => {}
        }
    }
}
