//! Fills the empty tables with everything up to a position: one reader in the order of the log, some folders.
//!
//! Order matters inside a stream only, so each stream belongs to one folder. Reads are short, what waits between reader and
//! folders is bounded, and a killed fill is begun again.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use sqlx::Connection as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::folder::Folder;
use super::ordinary::{self, Mark};
use super::{Phase, RebuildError, Run};
use crate::Error;
use crate::store::log::{self, Seen};
use crate::store::{next, rebuilds};

/// Positions of one statement of the reader.
const RANGE: i64 = 8_192;
/// Bytes of events that a folder takes at a time; a single event may be more.
const SHARE_BYTES: usize = 512 * 1024;
/// Shares that wait for one folder, at most.
const WAITING_MAX: usize = 1;
const STREAMS_PER_READ: i64 = 500;
const EVENTS_PER_READ: i64 = 1_000;
/// The beginning of the names of the streams that others need.
const WORKFLOWS: &str = "workflow:";

/// From nothing to all rows, without their indexes.
pub(super) async fn fill(run: &Run, upto: i64) -> Result<(), RebuildError> {
    begin(run, upto).await?;
    definitions(run, upto).await?;
    let mut folding = JoinSet::new();
    let mut folders = Vec::new();
    for _ in 0..run.folders {
        let made = (run.graphs(), run.models());
        let mut folder =
            Folder::new(&run.pool, run.hold, made, run.open_bytes_max / run.folders).await?;
        let (to, mut from) = mpsc::channel::<Vec<u8>>(WAITING_MAX);
        folders.push(Share::new(to));
        folding.spawn(async move {
            while let Some(share) = from.recv().await {
                folder.take(&share).await?;
            }
            folder.finish().await
        });
    }
    let read = read(run, upto, folders).await;
    let mut aside: HashSet<String> = HashSet::new();
    while let Some(folded) = folding.join_next().await {
        // A folder that failed says more than the reader who could not reach it.
        aside.extend(folded.map_err(|_| RebuildError::Lost)??);
    }
    read?;
    end(run, upto, &aside).await
}

/// Makes the empty tables.
async fn begin(run: &Run, upto: i64) -> Result<(), RebuildError> {
    let mut db = run.pool.acquire().await.map_err(Error::from)?;
    let mut tx = db.begin().await.map_err(Error::from)?;
    run.enter(&mut tx, Phase::Fill, upto, 0).await?;
    next::make(&mut tx).await.map_err(Error::from)?;
    tx.commit().await.map_err(Error::from)?;
    run.say(Phase::Fill, 0, upto);
    Ok(())
}

/// Workflows first: jobs of all folders need them.
async fn definitions(run: &Run, upto: i64) -> Result<(), RebuildError> {
    let mut db = run.pool.acquire().await.map_err(Error::from)?;
    let mut models = run.models();
    let mut cursor = String::new();
    loop {
        let streams = log::streams(&mut *db, WORKFLOWS, &cursor, upto, STREAMS_PER_READ).await;
        let streams = streams.map_err(Error::from)?;
        let Some(last) = streams.last() else {
            return Ok(());
        };
        cursor.clone_from(last);
        for stream in &streams {
            run.stream(&mut models, &mut db, stream, upto, Mark::Keep)
                .await?;
        }
    }
}

/// What waits to be sent to one folder.
struct Share {
    to: mpsc::Sender<Vec<u8>>,
    /// Events as [`Seen::next`] takes them.
    bytes: Vec<u8>,
}

impl Share {
    fn new(to: mpsc::Sender<Vec<u8>>) -> Self {
        Self {
            to,
            bytes: Vec::new(),
        }
    }

    async fn add(&mut self, event: &[u8]) -> Result<(), RebuildError> {
        self.bytes.extend_from_slice(event);
        if self.bytes.len() >= SHARE_BYTES {
            self.send().await?;
        }
        Ok(())
    }

    async fn send(&mut self) -> Result<(), RebuildError> {
        let bytes = std::mem::replace(&mut self.bytes, Vec::with_capacity(SHARE_BYTES));
        // A folder that has ended says itself why.
        let sent = self.to.send(bytes).await;
        sent.map_err(|_| RebuildError::Lost)
    }
}

/// Reads everything in order, and gives each folder its share.
async fn read(run: &Run, upto: i64, mut folders: Vec<Share>) -> Result<(), RebuildError> {
    let mut db = run.pool.acquire().await.map_err(Error::from)?;
    let mut pos = 0;
    while pos < upto {
        let end = (pos + RANGE).min(upto);
        let mut sent = log::range(&mut db, pos, end).await.map_err(Error::from)?;
        while let Some(message) = sent.next().await.map_err(Error::from)? {
            let mut rest = &*message;
            let mut before = rest;
            while let Some(seen) = Seen::next(&mut rest).map_err(Error::from)? {
                if seen.pos != pos + 1 {
                    return Err(RebuildError::Gap(pos));
                }
                pos = seen.pos;
                let event = before.get(..before.len() - rest.len()).unwrap_or_default();
                before = rest;
                let share = share_of(seen.stream_id, folders.len());
                if let Some(share) = share.and_then(|share| folders.get_mut(share)) {
                    share.add(event).await?;
                }
            }
        }
        if pos != end {
            return Err(RebuildError::Gap(pos));
        }
        run.say(Phase::Fill, pos, upto);
    }
    for share in &mut folders {
        share.send().await?;
    }
    Ok(())
}

/// Whose stream it is; `None` if it was read before.
fn share_of(stream: &str, folders: usize) -> Option<usize> {
    if stream.starts_with(WORKFLOWS) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    stream.hash(&mut hasher);
    usize::try_from(hasher.finish() >> 33)
        .ok()?
        .checked_rem(folders)
}

async fn end(run: &Run, upto: i64, aside: &HashSet<String>) -> Result<(), RebuildError> {
    if !aside.is_empty() {
        tracing::info!(
            streams = aside.len(),
            "streams are projected one by one after the fill"
        );
    }
    let aside: Vec<&str> = aside.iter().map(String::as_str).collect();
    let mut db = run.pool.acquire().await.map_err(Error::from)?;
    let mut tx = db.begin().await.map_err(Error::from)?;
    run.enter(&mut tx, Phase::Index, upto, upto).await?;
    rebuilds::set_aside(&mut tx, &aside)
        .await
        .map_err(Error::from)?;
    tx.commit().await.map_err(Error::from)?;
    Ok(())
}

/// The indexes of the tables that were copied, two at a time.
pub(super) async fn index(run: &Run) -> Result<(), RebuildError> {
    run.say(Phase::Index, 0, 0);
    let [jobs, history, nodes, results, requests] = next::COPIED;
    let some = async {
        index_of(run, jobs).await?;
        index_of(run, history).await?;
        index_of(run, results).await
    };
    let others = async {
        index_of(run, nodes).await?;
        index_of(run, requests).await
    };
    futures_util::future::try_join(some, others).await?;
    Ok(())
}

/// All missing indexes of one table.
async fn index_of(run: &Run, table: &'static str) -> Result<(), RebuildError> {
    let mut db = run.pool.acquire().await.map_err(Error::from)?;
    loop {
        let mut tx = db.begin().await.map_err(Error::from)?;
        if !rebuilds::keep(&mut tx, run.hold)
            .await
            .map_err(Error::from)?
        {
            return Err(RebuildError::Lost);
        }
        next::patient(&mut tx).await.map_err(Error::from)?;
        let made = next::index(&mut *tx, table).await.map_err(Error::from)?;
        tx.commit().await.map_err(Error::from)?;
        let Some(made) = made else { return Ok(()) };
        tracing::debug!("index {made} is made");
    }
}

/// The streams that were set aside, one by one.
pub(super) async fn rest(run: &Run, upto: i64) -> Result<(), RebuildError> {
    let mut db = run.pool.acquire().await.map_err(Error::from)?;
    let mut models = run.models();
    let (mut all, mut done) = (0, 0);
    while let Some((stream, left)) = rebuilds::rest(&mut *db).await.map_err(Error::from)? {
        all = all.max(left);
        run.say(Phase::Rest, done, all);
        let mut tx = db.begin().await.map_err(Error::from)?;
        if !rebuilds::keep(&mut tx, run.hold)
            .await
            .map_err(Error::from)?
        {
            return Err(RebuildError::Lost);
        }
        next::clear_stream(&mut tx, &stream)
            .await
            .map_err(Error::from)?;
        tx.commit().await.map_err(Error::from)?;
        run.stream(&mut models, &mut db, &stream, upto, Mark::RestDone(&stream))
            .await?;
        done += 1;
    }
    Ok(())
}

impl Run {
    /// Projects one stream from its beginning.
    async fn stream(
        &self,
        models: &mut crate::read_models::ReadModels,
        db: &mut sqlx::PgConnection,
        stream: &str,
        upto: i64,
        mark: Mark<'_>,
    ) -> Result<(), RebuildError> {
        let mut page = log::of_stream(&mut *db, stream, 0, upto, EVENTS_PER_READ)
            .await
            .map_err(Error::from)?;
        while let Some(last) = page.last() {
            let next = log::of_stream(&mut *db, stream, last.version, upto, EVENTS_PER_READ)
                .await
                .map_err(Error::from)?;
            // Only the last page ends the stream.
            let mark = if next.is_empty() { mark } else { Mark::Keep };
            ordinary::project(models, db, self.hold, page, mark).await?;
            page = next;
        }
        Ok(())
    }
}
