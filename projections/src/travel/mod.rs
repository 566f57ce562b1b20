//! Time travel: jobs, assets and lists as they were at any position of the log.
//!
//! Nothing is kept for it but the log. A job is folded up to the position by the very functions that fill the read
//! models, from the last snapshot on if there is one. A snapshot saves time and nothing else: it is keyed by the code
//! that made it, checked by its hash, and ignored when it is not what it should be.

mod asset;
mod bytes;
mod diff;
mod image;
mod keeper;
mod list;
mod moment;
mod values;
mod view;

use std::collections::HashSet;
use std::sync::Arc;

use domain::event::Event;
use domain::handler::Catalog;
use domain::job;
use sha2::{Digest as _, Sha256};
use sqlx::PgPool;
use tokio::sync::{Mutex, Semaphore};

use crate::Error;
use crate::read_models::graphs::Graphs;
use crate::read_models::job::STREAM;
use crate::read_models::job::changes::TakenOver;
use crate::read_models::job::past::Whole;
use crate::read_models::job::row::Place;
use crate::store::log::{self, Entry};
use crate::store::snapshots::{self, Snapshot};
use crate::store::travel as store;

pub use asset::AssetAt;
pub use diff::{Change, DIFF_NODES_MAX, StateDiff};
pub(crate) use keeper::keep;
pub use keeper::{Checked, check_snapshots};
pub use list::JobsAt;
pub use moment::{AsOf, Moment};
pub use view::{DOCUMENT_NODES_MAX, JobAt};

/// The code that folds, as a hash over its sources.
const FOLD_KEY: &str = env!("STRATA_FOLD_KEY");
/// Events between two snapshots of a stream; a shorter stream has none.
const EVERY: i64 = 8_192;
/// Events of one read.
const EVENTS_PER_READ: i64 = 2_048;
/// Jobs that are folded at the same time in one process; others wait.
const FOLDS_MAX: usize = 4;
/// A snapshot that would be larger is not kept.
const STATE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Whoever travels. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Traveller {
    pool: PgPool,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    graphs: Mutex<Graphs>,
    room: Semaphore,
}

impl Traveller {
    /// Over this log, with the handlers that workflows may name.
    #[must_use]
    pub fn new(pool: PgPool, catalog: Arc<Catalog>) -> Self {
        let shared = Shared {
            graphs: Mutex::new(Graphs::new(catalog)),
            room: Semaphore::new(FOLDS_MAX),
        };
        Self {
            pool,
            shared: Arc::new(shared),
        }
    }

    /// A job as it was; nothing if there is no such job, or it is not of the organisation. One that was made later is
    /// an error that says when.
    pub async fn job(
        &self,
        org_id: Option<&str>,
        job_id: &str,
        moment: Moment,
    ) -> Result<Option<JobAt>, Error> {
        let stream = format!("{STREAM}{job_id}");
        if !self.exists("job", &stream, org_id, moment).await? {
            return Ok(None);
        }
        let whole = self.fold(&stream, moment.pos, true).await?;
        Ok(whole.map(|whole| JobAt::new(self.pool.clone(), moment, whole)))
    }

    /// Whether a stream that the organisation may see existed; an error if it came later.
    async fn exists(
        &self,
        what: &'static str,
        stream: &str,
        org_id: Option<&str>,
        moment: Moment,
    ) -> Result<bool, Error> {
        let Some((since, owner)) = store::beginning(&self.pool, stream).await? else {
            return Ok(false);
        };
        if org_id.is_some_and(|org| org != owner) {
            return Ok(false);
        }
        if since > moment.pos {
            let id = stream.split_once(':').map_or(stream, |(_, id)| id);
            return Err(Error::NotYet {
                what,
                id: id.to_owned(),
                pos: moment.pos,
                since,
            });
        }
        Ok(true)
    }

    /// A job folded up to a position; nothing if its stream is not one of a job.
    async fn fold(
        &self,
        stream: &str,
        upto: i64,
        use_snapshots: bool,
    ) -> Result<Option<Whole>, Error> {
        let Ok(_place) = self.shared.room.acquire().await else {
            return Ok(None);
        };
        let mut whole = match use_snapshots {
            true => self.snapshot(stream, upto).await?,
            false => None,
        };
        let mut last = (0, 0);
        if let Some(whole) = &whole {
            last = (whole.version, whole.job.row.last_pos);
        }
        let read =
            async |last| store::events(&self.pool, stream, last, upto, EVENTS_PER_READ).await;
        let mut page = read(last).await?;
        while let Some(entry) = page.last() {
            last = (entry.version, entry.pos);
            // The next page is on its way while this one is folded.
            let (folded, next) = tokio::join!(
                self.take(stream, &mut whole, &page, use_snapshots),
                read(last)
            );
            if !folded? {
                break;
            }
            page = next?;
        }
        Ok(whole)
    }

    /// Folds events of a stream; `false` if it cannot be followed any further.
    async fn take(
        &self,
        stream: &str,
        whole: &mut Option<Whole>,
        page: &[Entry],
        may_keep: bool,
    ) -> Result<bool, Error> {
        for (nth, entry) in page.iter().enumerate() {
            if nth % 256 == 255 {
                // Others wait for this thread.
                tokio::task::yield_now().await;
            }
            let event = match entry.decode() {
                Ok(Event::Job(event)) => event,
                // As the projector does: what comes after it must wait, what came before it counts.
                _ => return Ok(parked(whole)),
            };
            let Some(whole) = whole else {
                *whole = self.begin(entry, &event).await?;
                match whole {
                    Some(begun) if !begun.job.row.degraded => continue,
                    _ => return Ok(false),
                }
            };
            let place = Place {
                pos: entry.pos,
                at: entry.recorded_at,
            };
            whole.apply(&event, place, entry.version)?;
            if may_keep && entry.version % EVERY == 0 {
                self.keep(stream, whole, entry.pos).await;
            }
        }
        Ok(true)
    }

    async fn begin(&self, entry: &Entry, event: &job::Event) -> Result<Option<Whole>, Error> {
        let job::Event::JobCreated(created) = event else {
            return Ok(None);
        };
        let hash = created.workflow.hash.as_str();
        let compiled = {
            let mut graphs = self.shared.graphs.lock().await;
            graphs.trim();
            let mut db = self.pool.acquire().await?;
            graphs.fetch(&mut db, &HashSet::from([hash])).await?;
            graphs.get(hash).ok()
        };
        Whole::begin(entry, created, compiled.as_deref()).map(Some)
    }

    /// The job as the last snapshot has it.
    async fn snapshot(&self, stream: &str, upto: i64) -> Result<Option<Whole>, Error> {
        let Some(found) = snapshots::latest(&self.pool, stream, FOLD_KEY, upto).await? else {
            return Ok(None);
        };
        let (version, pos) = (found.version, found.pos);
        let read = tokio::task::spawn_blocking(move || {
            let is_whole = Sha256::digest(&found.state)[..] == found.hash[..];
            is_whole.then(|| image::read(&found.state)).flatten()
        });
        let whole = read.await.ok().flatten();
        let whole = whole.filter(|whole| whole.version == version && whole.job.row.last_pos == pos);
        let Some(mut whole) = whole else {
            tracing::warn!(
                stream,
                version,
                "a snapshot cannot be used; the log is read instead"
            );
            return Ok(None);
        };
        if whole.job.row.origin.is_some() {
            for entry in log::reuse_events(&self.pool, &[stream.to_owned()]).await? {
                if let Ok(Event::Job(job::Event::OutputsReused { nodes, children })) =
                    entry.decode()
                {
                    whole.take_over(TakenOver { nodes, children });
                }
            }
        }
        Ok(Some(whole))
    }

    /// Keeps what is folded so far. It may fail: it only saves time.
    async fn keep(&self, stream: &str, whole: &Whole, pos: i64) {
        let state = image::write(whole);
        if state.len() > STATE_BYTES_MAX {
            tracing::debug!(stream, bytes = state.len(), "too large for a snapshot");
            return;
        }
        let snapshot = Snapshot {
            version: whole.version,
            pos,
            hash: Sha256::digest(&state).to_vec(),
            state,
        };
        if let Err(error) = snapshots::put(&self.pool, stream, FOLD_KEY, EVERY, &snapshot).await {
            tracing::warn!(stream, %error, "a snapshot could not be kept");
        }
    }
}

/// The stream has an event that cannot be read: its job stays as it is, and says so.
fn parked(whole: &mut Option<Whole>) -> bool {
    if let Some(whole) = whole {
        whole.job.row.degraded = true;
    }
    false
}
