//! Replay: recorded jobs are decided again by the code of this build, perhaps with another definition.
//!
//! It reads the log and nothing else, on connections that cannot write: also a build that is newer than the read
//! models can be asked before an upgrade. Memory does not depend on the length of a job, nor on how many there are.

mod definitions;
mod feed;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::definition::WorkflowRef;
use domain::event::Event;
use domain::event::proof::stream;
use domain::handler::Catalog;
use domain::id::JobId;
use domain::job;
use domain::job::Policy;
use domain::job::replay::Verdict;
use futures_util::TryStreamExt as _;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::Error;
use crate::run::projector_pool;
use crate::store::replay::{self as store, Made, Row};
use crate::store::{log, travel};
use definitions::Definitions;
pub use definitions::Other;
use feed::{Begun, Feed};

/// Positions in which jobs are looked for at once.
const POSITIONS: i64 = 16_384;
/// Events of one statement: of some short jobs, or of a part of a long one.
const EVENTS_PER_READ: i64 = 2_048;
/// Rows that wait for the thread that replays.
const ROWS_WAITING: usize = 64;

/// Whoever replays. Cheap to clone.
#[derive(Clone)]
pub struct Replayer {
    pool: PgPool,
    at_once: usize,
    definitions: Arc<Definitions>,
}

/// One job that was replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    pub job_id: String,
    pub workflow: Option<WorkflowRef>,
    pub outcome: Outcome,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Verdict(Verdict),
    /// This build cannot read its history or its definition.
    Unreadable(String),
    /// The other definition is one of another workflow.
    OtherWorkflow,
}

/// From where on jobs are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Jobs whose first event is at this position, or after it.
    Pos(i64),
    /// Jobs that were made after this time.
    Time(DateTime<Utc>),
}

/// What was replayed of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Range {
    /// The positions in which the jobs begin.
    pub from_pos: i64,
    pub upto_pos: i64,
}

impl Replayer {
    /// Over this log, with so many connections of its own, the handlers that workflows may name, and what is assumed
    /// of the settings of owners.
    #[must_use]
    pub fn new(
        pool: &PgPool,
        at_once: usize,
        catalog: Arc<Catalog>,
        other: Option<Other>,
        policy: Policy,
    ) -> Self {
        let at_once = at_once.clamp(1, 32);
        let pool = reading_pool(pool, u32::try_from(at_once).unwrap_or(1) + 1);
        let definitions = Definitions::new(pool.clone(), catalog, other, policy);
        Self {
            pool,
            at_once,
            definitions: Arc::new(definitions),
        }
    }

    /// Replays one job; nothing if there is none.
    pub async fn job(&self, job_id: JobId) -> Result<Option<Replayed>, Error> {
        let Some(made) = store::one(&self.pool, &stream(job_id)).await? else {
            return Ok(None);
        };
        Ok(self.replay(vec![made]).await?.pop())
    }

    /// Replays all jobs that begin in a part of the log; `each` hears of every one, and of how far the look for them
    /// is: positions done, and of how many.
    pub async fn all(
        &self,
        since: Since,
        mut each: impl FnMut(Vec<Replayed>, (i64, i64)),
    ) -> Result<Range, Error> {
        let upto_pos = log::head(&self.pool).await?;
        let from_pos = match since {
            Since::Pos(pos) => pos,
            Since::Time(at) => {
                let last = travel::at_time(&self.pool, at).await?;
                last.map_or(1, |last| last.pos + 1)
            }
        };
        let total = (upto_pos - from_pos + 1).max(0);
        let mut running = JoinSet::new();
        let mut next = from_pos;
        while next <= upto_pos {
            let last = upto_pos.min(next + POSITIONS - 1);
            for group in groups(store::made(&self.pool, next, last).await?) {
                if running.len() >= self.at_once
                    && let Some(done) = running.join_next().await
                {
                    each(ended(done)?, (next - from_pos, total));
                }
                let replayer = self.clone();
                running.spawn(async move { replayer.replay(group).await });
            }
            next = last + 1;
        }
        while let Some(done) = running.join_next().await {
            each(ended(done)?, (total, total));
        }
        Ok(Range { from_pos, upto_pos })
    }

    /// Ends the connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Replays some jobs whose rows fit into one read, or one that is longer.
    async fn replay(&self, jobs: Vec<Made>) -> Result<Vec<Replayed>, Error> {
        let (rows, feed) = mpsc::channel(ROWS_WAITING);
        let is_alone = jobs.len() == 1;
        let replaying = tokio::task::spawn_blocking(move || {
            let mut all = Vec::new();
            feed::replay_all(feed, is_alone, |replayed| all.push(replayed));
            all
        });
        let read = match jobs.as_slice() {
            [one] => self.feed_one(one, &rows).await,
            many => self.feed_few(many, &rows).await,
        };
        drop(rows);
        let replayed = replaying.await;
        read?;
        replayed.map_err(|error| Error::Replay(error.to_string()))
    }

    async fn feed_few(&self, jobs: &[Made], to: &mpsc::Sender<Feed>) -> Result<(), Error> {
        let streams: Vec<String> = jobs.iter().map(|made| made.stream_id.clone()).collect();
        let from = jobs.iter().map(|made| made.first_pos).min().unwrap_or(1);
        let mut db = self.pool.acquire().await?;
        let mut rows = store::of_few(&mut db, &streams, from);
        while let Some(row) = rows.try_next().await? {
            if !self.feed(row, to).await? {
                break;
            }
        }
        Ok(())
    }

    async fn feed_one(&self, job: &Made, to: &mpsc::Sender<Feed>) -> Result<(), Error> {
        let mut version = 0;
        loop {
            let before = version;
            let mut db = self.pool.acquire().await?;
            let place = (version, job.first_pos);
            let mut rows = store::of_one(&mut db, &job.stream_id, place, EVENTS_PER_READ);
            while let Some(row) = rows.try_next().await? {
                version = row.version;
                if !self.feed(row, to).await? {
                    return Ok(());
                }
            }
            if version - before < EVENTS_PER_READ {
                return Ok(());
            }
        }
    }

    /// Hands a row on; `false` if nobody wants more.
    async fn feed(&self, row: Row, to: &mpsc::Sender<Feed>) -> Result<bool, Error> {
        if row.version == 1 {
            let begun = Box::new(self.begin(&row).await?);
            if to.send(Feed::Job(begun)).await.is_err() {
                return Ok(false);
            }
        }
        Ok(to.send(Feed::Row(Box::new(row))).await.is_ok())
    }

    async fn begin(&self, row: &Row) -> Result<Begun, Error> {
        let schema_ver = u16::try_from(row.schema_ver).unwrap_or(u16::MAX);
        let (workflow, rules) = match domain::event::decode(&row.kind, schema_ver, &row.payload) {
            Ok(Event::Job(job::Event::JobCreated(created))) => {
                let pinned = created.workflow;
                let rules = match self.definitions.is_of_other(&pinned) {
                    true => Ok(None),
                    false => self.definitions.rules(&pinned).await?.map(Some),
                };
                (Some(pinned), rules)
            }
            Ok(_) => (
                None,
                Err("the first event does not create a job".to_owned()),
            ),
            Err(error) => (None, Err(format!("event 1: {error}"))),
        };
        let job_id = row.stream_id.strip_prefix("job:").unwrap_or_default();
        Ok(Begun {
            job_id: job_id.to_owned(),
            workflow,
            rules,
        })
    }
}

/// Jobs that are read together: as many events as one read takes; a longer one comes alone.
fn groups(made: Vec<Made>) -> Vec<Vec<Made>> {
    let mut groups: Vec<Vec<Made>> = Vec::new();
    let mut events = 0;
    for job in made {
        events += job.version;
        match groups.last_mut() {
            Some(group) if events <= EVENTS_PER_READ => group.push(job),
            _ => {
                events = job.version;
                groups.push(vec![job]);
            }
        }
    }
    groups
}

fn ended(
    done: Result<Result<Vec<Replayed>, Error>, tokio::task::JoinError>,
) -> Result<Vec<Replayed>, Error> {
    done.map_err(|error| Error::Replay(error.to_string()))?
}

/// Connections that cannot write, whatever is asked of them.
fn reading_pool(pool: &PgPool, connections: u32) -> PgPool {
    let options = projector_pool(pool, 1).connect_options().as_ref().clone();
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(10))
        .connect_lazy_with(options.options([("default_transaction_read_only", "on")]))
}
