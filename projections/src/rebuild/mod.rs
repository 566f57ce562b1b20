//! Rebuild: the read models made again from the log, beside those that everybody reads, and then put in their place.
//!
//! It writes tables of its own (`dagapp_next`), where it is (`dagapp.rebuilds`), and at the end the checkpoint of the read
//! models. It publishes nothing, calls nobody and touches no outbox.

mod fill;
mod folder;
mod follow;
mod holding;
mod ordinary;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::handler::Catalog;
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use crate::read_models::graphs::Graphs;
use crate::read_models::{NAME, ReadModels};
use crate::run::pool_on;
pub use crate::store::next::Mismatch;
use crate::store::rebuilds::{self, Hold, Taken};
use crate::store::{archives, checkpoints, next};
pub use holding::cancel;

/// Folders, at most; more would wait for the one reader.
const FOLDERS_MAX: usize = 3;
/// Connections that a rebuild takes, at most: reader, folders, and one in place of one that broke.
pub const CONNECTIONS: u32 = 5;
/// Memory for streams that have not ended while the tables are filled, about.
const OPEN_BYTES_MAX: usize = 96 * 1024 * 1024;
/// How long closing connections may take.
const CLOSE: Duration = Duration::from_secs(10);

/// What to rebuild with.
#[derive(Debug, Clone)]
pub struct Options {
    pub pool: PgPool,
    pub owner: Uuid,
    pub catalog: Arc<Catalog>,
    /// Compare with the live read models, row by row, before they are replaced.
    pub verify: bool,
    /// Leave what is done to whoever comes next when it is stopped; else clear it away.
    pub keep_when_stopped: bool,
    /// Memory for streams that have not ended while the tables are filled, about; what does not fit is projected later,
    /// stream by stream.
    pub open_bytes_max: usize,
}

impl Options {
    /// A rebuild without comparison, which leaves nothing behind when it is stopped.
    #[must_use]
    pub fn new(pool: PgPool, owner: Uuid, catalog: Arc<Catalog>) -> Self {
        Self {
            pool,
            owner,
            catalog,
            verify: false,
            keep_when_stopped: false,
            open_bytes_max: OPEN_BYTES_MAX,
        }
    }
}

/// What a rebuild is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Rows are made from the log.
    #[default]
    Fill,
    /// Indexes are made.
    Index,
    /// Streams that the fill set aside.
    Rest,
    /// What the log has gained.
    Follow,
    /// The rows of both sets.
    Compare,
}

impl Phase {
    /// The word for it, as in the database.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Index => "index",
            Self::Rest => "rest",
            Self::Follow => "follow",
            Self::Compare => "compare",
        }
    }
}

/// How far it is: of `all` events (streams in [`Phase::Rest`], tables in [`Phase::Compare`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    pub phase: Phase,
    pub done: i64,
    pub all: i64,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The rebuilt read models are the live ones, from this position on.
    Switched { pos: i64 },
    /// They are not the same; nothing was switched.
    Different(Mismatch),
    /// Stopped by the token.
    Stopped,
    /// Stopped by a cancel from elsewhere.
    Cancelled,
}

/// Why it could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    #[error(transparent)]
    Read(#[from] Error),
    #[error("another process is rebuilding the read models")]
    Busy,
    #[error("the read models are of version {0}, which is newer than this build")]
    Newer(i32),
    #[error("another process has taken the rebuild over")]
    Lost,
    #[error("the log has no event after position {0}, though it is longer")]
    Gap(i64),
}

impl RebuildError {
    /// The error with all its sources, for the log.
    #[must_use]
    pub fn chain(&self) -> String {
        match self {
            Self::Read(error) => error.chain(),
            other => other.to_string(),
        }
    }

    /// Whether a lock was not given in time.
    fn is_locked(&self) -> bool {
        let Self::Read(Error::Database(sqlx::Error::Database(error))) = self else {
            return false;
        };
        // Lock not available, deadlock, and what the switch says to one that is cancelled, as its owner learns soon.
        matches!(error.code().as_deref(), Some("55P03" | "40P01" | "55000"))
    }
}

/// A rebuild that is held.
struct Run {
    pool: PgPool,
    hold: Hold,
    catalog: Arc<Catalog>,
    folders: usize,
    verify: bool,
    open_bytes_max: usize,
    progress: watch::Sender<Progress>,
    /// For the sign of life.
    filled: Arc<AtomicI64>,
}

/// Rebuilds the read models, or goes on with a rebuild that was left.
pub async fn run(
    options: Options,
    progress: watch::Sender<Progress>,
    stop: CancellationToken,
) -> Result<Outcome, RebuildError> {
    // Said before anything is made: the tables cannot be filled without these events.
    archives::none(&options.pool).await.map_err(Error::from)?;
    let pool = pool_on(&options.pool, CONNECTIONS, "dagapp_next,dagapp");
    let taken = tokio::select! {
        () = stop.cancelled() => return Ok(Outcome::Stopped),
        taken = holding::take(&pool, options.owner) => taken?,
    };
    let hold = Hold {
        name: NAME,
        owner: options.owner,
        epoch: taken.epoch,
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let run = Run {
        pool: pool.clone(),
        hold,
        catalog: options.catalog,
        folders: cores.clamp(1, FOLDERS_MAX),
        verify: options.verify,
        open_bytes_max: options.open_bytes_max,
        progress,
        filled: Arc::new(AtomicI64::new(0)),
    };
    let ended = tokio::select! {
        () = stop.cancelled() => Ok(Outcome::Stopped),
        ended = holding::alive(&options.pool, hold, Arc::clone(&run.filled)) => ended,
        ended = Box::pin(run.work(taken)) => ended,
    };
    // What was under way is undone by the database before anything is cleared away.
    let _ = tokio::time::timeout(CLOSE, pool.close()).await;
    match &ended {
        Ok(Outcome::Switched { .. }) => {}
        Ok(Outcome::Stopped) if options.keep_when_stopped => {
            rebuilds::release(&options.pool, hold)
                .await
                .map_err(Error::from)?;
        }
        Ok(_) => {
            holding::clear(&options.pool, Some(hold)).await?;
        }
        // Whoever comes next goes on.
        Err(_) => rebuilds::release(&options.pool, hold)
            .await
            .map_err(Error::from)?,
    }
    ended
}

impl Run {
    async fn work(&self, taken: Taken) -> Result<Outcome, RebuildError> {
        let (mut phase, mut upto, mut pos) = (taken.phase, taken.upto, taken.pos);
        tracing::info!(
            phase,
            upto,
            pos,
            epoch = taken.epoch,
            version = taken.version,
            "rebuild"
        );
        if phase == "fill" {
            upto = checkpoints::position(&self.pool, NAME)
                .await
                .map_err(Error::from)?;
            fill::fill(self, upto).await?;
            (phase, pos) = ("index".to_owned(), upto);
        }
        if phase == "index" {
            fill::index(self).await?;
            phase = self.enter_now(Phase::Rest, upto, pos).await?;
        }
        if phase == "rest" {
            fill::rest(self, upto).await?;
            self.enter_now(Phase::Follow, upto, pos).await?;
        }
        let mut follower = follow::Follower::new(self, pos);
        if self.verify
            && let Some(found) = follower.compare().await?
        {
            return Ok(Outcome::Different(found));
        }
        let pos = follower.switch().await?;
        tracing::info!(pos, "the rebuilt read models are live");
        Ok(Outcome::Switched { pos })
    }

    async fn enter_now(&self, phase: Phase, upto: i64, pos: i64) -> Result<String, RebuildError> {
        let mut db = self.pool.acquire().await.map_err(Error::from)?;
        self.enter(&mut db, phase, upto, pos).await?;
        Ok(phase.word().to_owned())
    }

    async fn enter(
        &self,
        db: &mut PgConnection,
        phase: Phase,
        upto: i64,
        pos: i64,
    ) -> Result<(), RebuildError> {
        let held = rebuilds::enter(db, self.hold, phase.word(), upto, pos).await;
        if held.map_err(Error::from)? {
            return Ok(());
        }
        Err(RebuildError::Lost)
    }

    fn say(&self, phase: Phase, done: i64, all: i64) {
        if phase == Phase::Fill {
            self.filled.store(done, Ordering::Relaxed);
        }
        self.progress.send_replace(Progress { phase, done, all });
    }

    fn models(&self) -> ReadModels {
        ReadModels::of_next(Arc::clone(&self.catalog))
    }

    fn graphs(&self) -> Graphs {
        Graphs::of_next(Arc::clone(&self.catalog))
    }
}

/// The tables that a rebuild makes again.
pub async fn tables(pool: &PgPool) -> Result<Vec<String>, Error> {
    Ok(next::tables(pool).await?)
}
