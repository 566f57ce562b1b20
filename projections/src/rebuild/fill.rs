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
use crate::projector::BATCH_EVENTS_MAX;
use crate::store::log::{self, Entry};
use crate::store::{next, rebuilds};

/// Batches that wait for one folder, at most.
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
        let (to, mut from) = mpsc::channel::<Vec<Entry>>(WAITING_MAX);
        folders.push(to);
        folding.spawn(async move {
            while let Some(entries) = from.recv().await {
                folder.take(entries).await?;
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

async fn read(
    run: &Run,
    upto: i64,
    folders: Vec<mpsc::Sender<Vec<Entry>>>,
) -> Result<(), RebuildError> {
    let mut db = run.pool.acquire().await.map_err(Error::from)?;
    let mut pos = 0;
    while pos < upto {
        let entries = log::after(&mut *db, pos, BATCH_EVENTS_MAX.min(upto - pos)).await;
        let entries = entries.map_err(Error::from)?;
        let Some(last) = entries.last() else {
            return Err(RebuildError::Gap(pos));
        };
        pos = last.pos;
        let mut shares: Vec<Vec<Entry>> = folders.iter().map(|_| Vec::new()).collect();
        for entry in entries {
            if entry.stream_id.starts_with(WORKFLOWS) {
                continue;
            }
            let mut hasher = DefaultHasher::new();
            entry.stream_id.hash(&mut hasher);
            let share = usize::try_from(hasher.finish() >> 33).unwrap_or(0) % folders.len();
            if let Some(share) = shares.get_mut(share) {
                share.push(entry);
            }
        }
        for (folder, share) in folders.iter().zip(shares) {
            if folder.send(share).await.is_err() {
                // It has ended, and says itself why.
                return Err(RebuildError::Lost);
            }
        }
        run.say(Phase::Fill, pos, upto);
    }
    Ok(())
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
