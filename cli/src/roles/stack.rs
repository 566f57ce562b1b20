//! The way of a process to the database and to NATS.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bus::{Bus, Subjects};
use commands::appender::Appender;
use commands::clock::Clock;
use commands::definitions::Definitions;
use commands::log::{Connect, Log, PostgresLog};
use commands::write::Writer;
use domain::id::OwnerId;
use sqlx::PgPool;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::args::{StackArgs, StoreArgs};
use super::budget::Budget;
use crate::exit::Stop;
use crate::services::{Context, DATABASE_URL, from_env};

/// How long the last appends of a process may take.
const DRAIN: Duration = Duration::from_secs(10);

/// Where everything is.
#[derive(Clone)]
pub(crate) struct Stack {
    context: Context,
    pub(crate) data_dir: PathBuf,
    pub(crate) subjects: Subjects,
    ack_wait: Duration,
}

/// The write side of a process, with the task that appends.
pub(crate) struct Write {
    pub(crate) writer: Writer,
    pub(crate) pool: PgPool,
    stop: CancellationToken,
    appending: JoinHandle<()>,
}

impl Stack {
    /// The stack that the environment or the data directory names.
    pub(crate) fn find(args: &StackArgs) -> anyhow::Result<Self> {
        let context = Context::find(&args.data_dir)?;
        Self::new(context, args)
    }

    /// What a worker needs of the stack: NATS, and not the database.
    pub(crate) fn find_nats(args: &StackArgs) -> anyhow::Result<Self> {
        let context = Context {
            database_url: String::new(),
            nats_url: Context::find_nats(&args.data_dir)?,
            url: None,
            key: None,
            catalog_url: Context::read(&args.data_dir)?.and_then(|noted| noted.catalog_url),
        };
        Self::new(context, args)
    }

    /// The database alone, for commands that have no use for NATS.
    pub(crate) fn of_database(data_dir: &Path) -> anyhow::Result<Self> {
        let subjects =
            Subjects::new("strata").map_err(|error| Stop::failed(error.to_string(), ""))?;
        let database_url = match from_env(DATABASE_URL) {
            Some(given) => given,
            None => Context::find(data_dir)?.database_url,
        };
        let context = Context {
            database_url,
            nats_url: String::new(),
            url: None,
            key: None,
            catalog_url: None,
        };
        Ok(Self {
            context,
            data_dir: data_dir.to_owned(),
            subjects,
            ack_wait: Duration::ZERO,
        })
    }

    /// A stack at these addresses.
    pub(crate) fn new(context: Context, args: &StackArgs) -> anyhow::Result<Self> {
        let subjects = Subjects::new(&args.prefix)
            .map_err(|error| Stop::usage(format!("--prefix: {error}"), ""))?;
        Ok(Self {
            context,
            data_dir: args.data_dir.clone(),
            subjects,
            ack_wait: args.ack_wait,
        })
    }

    /// The catalog that the stack has, with the role of workers.
    pub(crate) fn catalog_url(&self) -> Option<String> {
        self.context.catalog_url.clone()
    }

    /// The same stack with this catalog.
    pub(crate) fn with_catalog(mut self, url: Option<String>) -> Self {
        self.context.catalog_url = url;
        self
    }

    /// The address of the database, with its password.
    pub(crate) fn database_url(&self) -> &str {
        &self.context.database_url
    }

    /// The database, without a connection yet.
    pub(crate) fn database(&self, readers: u32) -> anyhow::Result<Connect> {
        let parsed = Connect::parse(&self.context.database_url, readers);
        parsed
            .map_err(|error| Stop::usage(format!("STRATA_DATABASE_URL: {error}"), "strata doctor"))
    }

    /// A connection to NATS, now or never.
    pub(crate) async fn bus(&self, role: &str) -> anyhow::Result<Bus> {
        let name = format!("strata {role}");
        let connected = Bus::connect(&self.context.nats_url, self.subjects.clone(), &name).await;
        let connected =
            connected.map_err(|error| Stop::unreachable(error.to_string(), "strata doctor"))?;
        Ok(connected.with_ack_wait(self.ack_wait))
    }

    /// A pool for reading.
    pub(crate) async fn pool(&self, connections: u32) -> anyhow::Result<PgPool> {
        let connect = self.database(connections)?;
        let pool = commands::log::pool_options(connections);
        let pool = pool.connect_with(connect.options).await;
        pool.map_err(|error| unreachable_database(&error))
    }

    /// The write side; wakes the readers of the log after each commit.
    pub(crate) async fn write(&self, budget: &Budget, bus: Option<Bus>) -> anyhow::Result<Write> {
        let connect = self.database(budget.readers)?;
        let log = PostgresLog::connect(&connect).await;
        let log = log.map_err(|error| Stop::unreachable(error.to_string(), "strata doctor"))?;
        let pool = log.pool().clone();
        let log: Arc<dyn Log> = Arc::new(log);
        let stop = CancellationToken::new();
        let (grown, news) = watch::channel(0);
        let (appender, appending) = Appender::start(Arc::clone(&log), stop.clone(), move |pos| {
            grown.send_replace(pos);
        });
        if let Some(bus) = bus.clone() {
            tokio::spawn(tell(bus, news));
        }
        let writer = Writer {
            definitions: Arc::new(Definitions::new(Arc::clone(&log))),
            clock: Clock::of(&*log)
                .await
                .map_err(|error| Stop::unreachable(error.to_string(), "strata doctor"))?,
            log,
            appender,
            bus,
        };
        Ok(Write {
            writer,
            pool,
            stop,
            appending,
        })
    }

    /// The object store.
    pub(crate) fn store(&self, args: &StoreArgs) -> anyhow::Result<workers::Store> {
        let address = match &args.store {
            Some(address) => address.clone(),
            None => self.data_dir.join("store").display().to_string(),
        };
        workers::store::open(&address).map_err(|error| Stop::usage(format!("--store: {error}"), ""))
    }

    /// A directory for the scratch files of workers.
    pub(crate) fn scratch(&self, given: Option<&Path>) -> PathBuf {
        given.map_or_else(|| self.data_dir.join("scratch"), Path::to_owned)
    }
}

impl Write {
    /// Appends what was accepted, and ends.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if tokio::time::timeout(DRAIN, self.appending).await.is_err() {
            tracing::warn!("the last appends were not answered");
        }
        // In order, so that no connection is found cut when the database ends next.
        let _ = tokio::time::timeout(DRAIN, self.pool.close()).await;
        if let Some(bus) = &self.writer.bus {
            let _ = tokio::time::timeout(Duration::from_secs(1), bus.client.flush()).await;
        }
    }
}

/// How often the one who tells of a commit lets others go first.
const TURNS: usize = 4;

/// Says that the log has grown, at most as often as the connection takes it.
///
/// After whoever waited for the commit: the message that moves the job on must not queue behind the wake-up of
/// all who only look.
async fn tell(bus: Bus, mut news: watch::Receiver<u64>) {
    while news.changed().await.is_ok() {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        let pos = *news.borrow_and_update();
        bus.hint(bus.subjects.log_grew(), &pos).await;
    }
}

/// One start of one process.
#[expect(
    clippy::disallowed_methods,
    reason = "the composition root draws the id of this start"
)]
pub(crate) fn fresh_owner() -> OwnerId {
    OwnerId(Uuid::new_v4())
}

/// The name of this machine, for people.
pub(crate) fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

pub(crate) fn unreachable_database(error: &sqlx::Error) -> anyhow::Error {
    let reason = match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    };
    let message = format!("the database does not answer: {reason}");
    Stop::unreachable(message, "strata doctor")
}
