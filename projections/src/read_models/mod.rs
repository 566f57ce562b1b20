//! The projector of all read models: one position for all tables, so that they always agree.

mod assets;
mod definitions;
pub(crate) mod graphs;
pub(crate) mod job;
pub(crate) mod requests;

use std::collections::HashSet;
use std::sync::Arc;

use domain::event::Event;
use domain::handler::Catalog;
use sqlx::PgConnection;

use self::graphs::Graphs;
use crate::Error;
use crate::projector::Projector;
use crate::store::errors::{self, Parked};
use crate::store::log::Entry;

/// The name of this projector in `projection_checkpoints`.
pub const NAME: &str = "read_models";
/// Raised when rows of the same log become others.
pub const VERSION: i32 = 2;

/// Folds the log into rows.
#[derive(Debug)]
pub(crate) struct ReadModels {
    graphs: Graphs,
    jobs: job::Jobs,
    assets: assets::Assets,
    /// Streams that are not followed any further; `None` before they were read.
    parked: Option<HashSet<String>>,
}

impl ReadModels {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            graphs: Graphs::new(catalog),
            jobs: job::Jobs::default(),
            assets: assets::Assets::default(),
            parked: None,
        }
    }

    /// For the tables that are being rebuilt.
    pub(crate) fn of_next(catalog: Arc<Catalog>) -> Self {
        Self {
            graphs: Graphs::of_next(Arc::clone(&catalog)),
            ..Self::new(catalog)
        }
    }

    async fn load_parked(&mut self, db: &mut PgConnection) -> Result<(), Error> {
        if self.parked.is_none() {
            self.parked = Some(errors::parked(db, NAME).await?.into_iter().collect());
        }
        Ok(())
    }

    fn is_parked(&self, stream_id: &str) -> bool {
        self.parked
            .as_ref()
            .is_some_and(|parked| parked.contains(stream_id))
    }

    /// Reads the events of a batch; those that cannot be read park their streams.
    fn decode(&mut self, batch: Vec<Entry>, unfit: &mut Vec<Parked>) -> Vec<(Entry, Event)> {
        let mut events = Vec::with_capacity(batch.len());
        for entry in batch {
            if self.is_parked(&entry.stream_id) {
                continue;
            }
            match entry.decode() {
                Ok(event) => events.push((entry, event)),
                Err(error) => {
                    let error = Error::Decode(error).chain();
                    self.set_aside(&entry, error, unfit);
                }
            }
        }
        events
    }

    fn set_aside(&mut self, entry: &Entry, error: String, unfit: &mut Vec<Parked>) {
        tracing::error!(
            stream = entry.stream_id, pos = entry.pos, kind = entry.kind, %error,
            "an event cannot be applied; its stream is parked"
        );
        self.jobs.degrade(&entry.stream_id);
        unfit.push(Parked::new(entry, error));
        if let Some(parked) = &mut self.parked {
            parked.insert(entry.stream_id.clone());
        }
    }

    async fn prepare(
        &mut self,
        db: &mut PgConnection,
        events: &[(Entry, Event)],
    ) -> Result<(), Error> {
        self.graphs.trim();
        let mut hashes: HashSet<&str> = HashSet::new();
        let mut of_jobs = Vec::with_capacity(events.len());
        for (entry, event) in events {
            match event {
                Event::Workflow(domain::workflow::Event::WorkflowRegistered {
                    hash,
                    source,
                    handlers,
                    ..
                }) => self.graphs.add(hash, source, handlers),
                Event::Job(event) => {
                    if let domain::job::Event::JobCreated(created) = event {
                        hashes.insert(&created.workflow.hash);
                    }
                    of_jobs.push((entry, event));
                }
                _ => {}
            }
        }
        self.graphs.fetch(db, &hashes).await?;
        self.jobs.prepare(db, &of_jobs).await?;
        self.assets.prepare(db, events).await
    }
}

impl Projector for ReadModels {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> i32 {
        VERSION
    }

    fn is_rebuilt(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.jobs = job::Jobs::default();
        self.assets = assets::Assets::default();
        self.parked = None;
    }

    async fn project(&mut self, db: &mut PgConnection, batch: Vec<Entry>) -> Result<(), Error> {
        self.load_parked(db).await?;
        let mut unfit = Vec::new();
        let events = self.decode(batch, &mut unfit);
        self.prepare(db, &events).await?;
        let mut definitions = definitions::Definitions::default();
        let mut requests = requests::Requests::default();
        for (entry, event) in &events {
            if self.is_parked(&entry.stream_id) {
                // What comes after an event that cannot be read must wait; what came before it counts.
                let parked_at = unfit.iter().find(|p| p.stream_id == entry.stream_id);
                if parked_at.is_none_or(|p| p.pos < entry.pos) {
                    continue;
                }
            }
            match event {
                Event::Job(event) => {
                    if let Err(error) = self.jobs.apply(entry, event, &self.graphs) {
                        self.set_aside(entry, error.to_string(), &mut unfit);
                    }
                }
                Event::Asset(event) => self.assets.apply(entry, event),
                Event::Request(event) => requests.apply(entry, event),
                Event::Platform(event) => definitions.apply_platform(entry, event),
                Event::Workflow(event) => definitions.apply_workflow(entry, event),
                // Not a read model, and shown from the outbox.
                Event::Callback(_) => {}
            }
        }
        definitions.flush(db).await?;
        requests.flush(db).await?;
        self.assets.flush(db).await?;
        self.jobs.flush(db).await?;
        errors::park(db, NAME, &unfit).await?;
        Ok(())
    }

    async fn park(
        &mut self,
        db: &mut PgConnection,
        entry: &Entry,
        error: String,
    ) -> Result<(), Error> {
        self.load_parked(db).await?;
        let mut unfit = Vec::new();
        self.set_aside(entry, error, &mut unfit);
        errors::park(db, NAME, &unfit).await?;
        Ok(())
    }
}
