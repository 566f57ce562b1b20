//! A share of the streams of the log, folded from their first events on and written when they end.
//!
//! Jobs and requests are folded in memory and copied whole. Everything else is rare and goes the ordinary way. A stream
//! that does not fit this (it cannot be read, the database refuses its rows, it takes over the work of another job, or
//! memory presses) is set aside: the projector itself does it when the tables have their indexes.

use std::collections::{HashMap, HashSet};

use domain::event::Event;
use sqlx::pool::PoolConnection;
use sqlx::{Connection, PgPool, Postgres};

use super::RebuildError;
use super::ordinary::{self, Mark};
use crate::Error;
use crate::read_models::ReadModels;
use crate::read_models::graphs::Graphs;
use crate::read_models::job::whole::{Whole, takes_over};
use crate::read_models::requests::Said;
use crate::store::fill::Filled;
use crate::store::log::Seen;
use crate::store::rebuilds::{self, Hold};
use crate::store::requests::Submitted;

/// Rows are written when there are so many bytes of them.
const WRITE_BYTES: usize = 4 * 1024 * 1024;
/// Memory that a request takes, about, beside what its event says.
const REQUEST_BYTES: usize = 512;

/// A stream that has not ended.
#[derive(Debug)]
enum Open {
    Job(Box<Whole>),
    Request(Submitted, usize),
}

impl Open {
    fn weight(&self) -> usize {
        match self {
            Self::Job(whole) => whole.weight(),
            Self::Request(_, bytes) => REQUEST_BYTES + bytes,
        }
    }
}

/// A stream cannot be folded from its first event on.
struct NotWhole;

/// One share.
pub(super) struct Folder {
    pool: PgPool,
    db: PoolConnection<Postgres>,
    hold: Hold,
    graphs: Graphs,
    models: ReadModels,
    /// With the batch that touched them last.
    open: HashMap<String, (u64, Open)>,
    open_bytes: usize,
    open_bytes_max: usize,
    batch: u64,
    filled: Filled,
    /// Whose rows wait to be written.
    filled_streams: Vec<String>,
    aside: HashSet<String>,
}

impl Folder {
    pub(super) async fn new(
        pool: &PgPool,
        hold: Hold,
        (graphs, models): (Graphs, ReadModels),
        open_bytes_max: usize,
    ) -> Result<Self, RebuildError> {
        Ok(Self {
            db: pool.acquire().await.map_err(Error::from)?,
            pool: pool.clone(),
            hold,
            graphs,
            models,
            open: HashMap::new(),
            open_bytes: 0,
            open_bytes_max,
            batch: 0,
            filled: Filled::default(),
            filled_streams: Vec::new(),
            aside: HashSet::new(),
        })
    }

    /// Takes the next events of its streams in.
    pub(super) async fn take(&mut self, share: &[u8]) -> Result<(), RebuildError> {
        self.batch += 1;
        let mut others = Vec::new();
        let mut events = Vec::new();
        let mut rest = share;
        while let Some(seen) = Seen::next(&mut rest).map_err(Error::from)? {
            if self.aside.contains(seen.stream_id) {
                continue;
            }
            match seen.decode() {
                Ok(event @ (Event::Job(_) | Event::Request(_))) => events.push((seen, event)),
                Ok(_) => others.push(seen.entry()),
                // Where it stands in its stream matters; the projector knows what to keep.
                Err(_) => self.set_aside(seen.stream_id),
            }
        }
        let hashes: HashSet<&str> = events
            .iter()
            .filter_map(|(_, event)| hash_of(event))
            .collect();
        self.graphs.trim();
        self.graphs
            .fetch(&mut self.db, &hashes)
            .await
            .map_err(Error::from)?;
        for (seen, event) in &events {
            if !self.aside.contains(seen.stream_id) && self.fold(seen, event).is_err() {
                self.set_aside(seen.stream_id);
            }
        }
        drop(events);
        if !others.is_empty() {
            let (models, db) = (&mut self.models, &mut *self.db);
            ordinary::project(models, db, self.hold, others, Mark::Keep).await?;
        }
        if self.filled.bytes() >= WRITE_BYTES {
            self.write().await?;
        }
        self.make_room();
        Ok(())
    }

    /// Writes the streams that have not ended as they stand; the answer is what was set aside.
    pub(super) async fn finish(mut self) -> Result<HashSet<String>, RebuildError> {
        for (stream, (_, open)) in std::mem::take(&mut self.open) {
            let written = match &open {
                Open::Job(whole) => self.filled.job(&whole.job, &whole.changes),
                Open::Request(submitted, _) => self.filled.request(submitted, None),
            };
            match written {
                Ok(()) => self.filled_streams.push(stream),
                Err(_) => self.set_aside(&stream),
            }
            if self.filled.bytes() >= WRITE_BYTES {
                self.write().await?;
            }
        }
        self.write().await?;
        Ok(self.aside)
    }

    /// Folds one event; an error means that its stream does not fit.
    fn fold(&mut self, seen: &Seen<'_>, event: &Event) -> Result<(), NotWhole> {
        match event {
            Event::Job(event) => self.fold_job(seen, event),
            Event::Request(event) => {
                let said = Said::of(seen.stream_id, seen.pos, event);
                self.fold_request(seen, said)
            }
            _ => Ok(()),
        }
    }

    fn fold_job(&mut self, seen: &Seen<'_>, event: &domain::job::Event) -> Result<(), NotWhole> {
        if takes_over(event) {
            return Err(NotWhole);
        }
        let Some((touched, Open::Job(whole))) = self.open.get_mut(seen.stream_id) else {
            let whole = Whole::begin(seen, event, &self.graphs).map_err(|_| NotWhole)?;
            self.open_bytes += whole.weight();
            let open = Open::Job(Box::new(whole));
            self.open
                .insert(seen.stream_id.to_owned(), (self.batch, open));
            return Ok(());
        };
        *touched = self.batch;
        let before = whole.weight();
        whole.apply(seen, event).map_err(|_| NotWhole)?;
        self.open_bytes = self.open_bytes + whole.weight() - before;
        if whole.has_ended() {
            let written = self.filled.job(&whole.job, &whole.changes);
            written.map_err(|_| NotWhole)?;
            self.ended(seen.stream_id);
        }
        Ok(())
    }

    fn fold_request(&mut self, seen: &Seen<'_>, said: Said) -> Result<(), NotWhole> {
        match (said, self.open.get(seen.stream_id)) {
            (Said::Submitted(submitted), None) if seen.version == 1 => {
                let open = Open::Request(submitted, seen.payload.len());
                self.open_bytes += open.weight();
                self.open
                    .insert(seen.stream_id.to_owned(), (self.batch, open));
                Ok(())
            }
            (Said::Settled(settled), Some((_, Open::Request(submitted, _)))) => {
                let written = self.filled.request(submitted, Some(&settled));
                written.map_err(|_| NotWhole)?;
                self.ended(seen.stream_id);
                Ok(())
            }
            _ => Err(NotWhole),
        }
    }

    /// Its rows are made.
    fn ended(&mut self, stream: &str) {
        if let Some((stream, (_, open))) = self.open.remove_entry(stream) {
            self.open_bytes -= open.weight();
            self.filled_streams.push(stream);
        }
    }

    fn set_aside(&mut self, stream: &str) {
        if let Some((_, open)) = self.open.remove(stream) {
            self.open_bytes -= open.weight();
        }
        self.aside.insert(stream.to_owned());
    }

    /// Sets aside what was not touched for longest, if there is too much.
    fn make_room(&mut self) {
        if self.open_bytes <= self.open_bytes_max {
            return;
        }
        let ages = self
            .open
            .iter()
            .map(|(stream, (touched, _))| (*touched, stream.clone()));
        let mut ages: Vec<(u64, String)> = ages.collect();
        ages.sort_unstable();
        for (_, stream) in ages {
            if self.open_bytes <= self.open_bytes_max / 2 {
                break;
            }
            self.set_aside(&stream);
        }
    }

    /// Writes the rows that wait; streams whose rows the database refuses are set aside.
    async fn write(&mut self) -> Result<(), RebuildError> {
        match self.copy().await {
            Ok(()) => {}
            Err(RebuildError::Read(error)) if error.is_data() => {
                tracing::warn!(
                    streams = self.filled_streams.len(), error = %error.chain(),
                    "rows are refused; the streams of the batch are projected one by one"
                );
                // The connection may be in the middle of a COPY.
                let fresh = self.pool.acquire().await.map_err(Error::from)?;
                drop(std::mem::replace(&mut self.db, fresh).detach());
                self.aside.extend(self.filled_streams.drain(..));
            }
            Err(error) => return Err(error),
        }
        self.filled.clear();
        self.filled_streams.clear();
        Ok(())
    }

    async fn copy(&mut self) -> Result<(), RebuildError> {
        let mut tx = self.db.begin().await.map_err(Error::from)?;
        if !rebuilds::keep(&mut tx, self.hold)
            .await
            .map_err(Error::from)?
        {
            return Err(RebuildError::Lost);
        }
        self.filled.write(&mut tx).await.map_err(Error::from)?;
        tx.commit().await.map_err(Error::from)?;
        Ok(())
    }
}

/// The workflow of a job that begins.
fn hash_of(event: &Event) -> Option<&str> {
    match event {
        Event::Job(domain::job::Event::JobCreated(created)) => Some(&created.workflow.hash),
        _ => None,
    }
}
