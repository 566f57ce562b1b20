//! The log in memory: for simulations and fast tests. It keeps the same promises, except durability.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use domain::event::{Hash, Leaf, batch_hash, leaf_hash};
use domain::id::OwnerId;
use futures_util::future::{BoxFuture, ready};
use uuid::Uuid;

use super::batch::{Batch, Command, Row};
use super::error::LogError;
use super::jobs::JobRow;
use super::{CommandOutcome, Committed, Log, OpenJob, Recorded};

/// The clock of a log in memory; simulations turn it by hand.
pub type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// A log that lives as long as its process.
pub struct MemoryLog {
    pub(super) clock: Clock,
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(super) struct Inner {
    events: Vec<Recorded>,
    streams: BTreeMap<String, Stream>,
    batches: BTreeMap<Uuid, Committed>,
    head: Hash,
    last_at: DateTime<Utc>,
    pub(super) jobs: BTreeMap<String, Job>,
    pub(super) owners: BTreeMap<OwnerId, DateTime<Utc>>,
}

#[derive(Default)]
struct Stream {
    positions: Vec<usize>,
    closed: bool,
    max_schema: u16,
}

pub(super) struct Job {
    pub(super) row: JobRow,
    pub(super) submitted_at: DateTime<Utc>,
}

impl MemoryLog {
    /// An empty log.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            inner: Mutex::new(Inner::default()),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hash of the last batch.
    #[must_use]
    pub fn head(&self) -> Hash {
        self.lock().head
    }
}

impl Inner {
    fn version(&self, stream: &str) -> u64 {
        self.streams
            .get(stream)
            .map_or(0, |s| s.positions.len() as u64)
    }

    fn fits(&self, command: &Command) -> bool {
        let stream = self.streams.get(&command.stream);
        let open = stream.is_none_or(|s| !s.closed);
        open && match command.expected {
            Some(expected) => expected == self.version(&command.stream),
            None => stream.is_some(),
        }
    }

    fn append(&mut self, batch: &Batch, now: DateTime<Utc>) -> Committed {
        if let Some(known) = self.batches.get(&batch.batch_id) {
            return known.clone();
        }
        let at = now.max(self.last_at);
        let refused: Vec<usize> = batch
            .commands
            .iter()
            .filter(|c| !self.fits(c))
            .map(|c| c.group)
            .collect();
        let kept: Vec<bool> = batch
            .commands
            .iter()
            .map(|c| !refused.contains(&c.group))
            .collect();
        let keeps = |place: usize| kept.get(place).copied().unwrap_or(false);
        let first_pos = self.events.len() as u64 + 1;
        let mut leaves = Vec::new();
        for row in batch.events.iter().filter(|row| keeps(row.command)) {
            leaves.push(self.record(row, batch, at));
        }
        let outcomes = batch.commands.iter().enumerate().map(|(place, command)| {
            let version = self.version(&command.stream);
            if keeps(place) {
                CommandOutcome::Appended { version }
            } else {
                CommandOutcome::Conflict { version }
            }
        });
        let outcomes = outcomes.collect();
        let committed = Committed {
            first_pos,
            at,
            outcomes,
        };
        if leaves.is_empty() {
            return committed;
        }
        for (place, command) in batch.commands.iter().enumerate().filter(|(p, _)| keeps(*p)) {
            let stream = self.streams.entry(command.stream.clone()).or_default();
            stream.closed = command.closes;
            stream.max_schema = stream.max_schema.max(command.max_schema);
            let changes = batch.open_jobs.iter().filter(|(of, _)| *of == place);
            changes.for_each(|(_, change)| self.keep_open_job(change, at));
        }
        self.head = batch_hash(&self.head, first_pos, at.timestamp_micros(), &leaves);
        self.last_at = at;
        self.batches.insert(batch.batch_id, committed.clone());
        committed
    }

    fn record(&mut self, row: &Row, batch: &Batch, at: DateTime<Utc>) -> Hash {
        let stream_id = batch
            .commands
            .get(row.command)
            .map_or_else(String::new, |c| c.stream.clone());
        let version = self.version(&stream_id) + 1;
        let leaf = leaf_hash(&Leaf {
            stream_id: &stream_id,
            version,
            kind: row.kind,
            schema_ver: row.schema_ver,
            org_id: &row.org_id,
            meta: &row.meta,
            payload: &row.payload,
        });
        let place = self.events.len();
        self.streams
            .entry(stream_id.clone())
            .or_default()
            .positions
            .push(place);
        self.events.push(Recorded {
            pos: place as u64 + 1,
            stream_id,
            version,
            kind: row.kind.to_owned(),
            schema_ver: row.schema_ver,
            org_id: row.org_id.clone(),
            payload: row.payload.clone(),
            meta: row.meta.clone(),
            recorded_at: at,
            leaf,
        });
        leaf
    }

    fn keep_open_job(&mut self, change: &OpenJob, at: DateTime<Utc>) {
        match change {
            OpenJob::Open { job_id, request_id } => {
                let Ok(id) = job_id.parse() else { return };
                self.jobs.entry(job_id.clone()).or_insert_with(|| Job {
                    row: JobRow {
                        job_id: id,
                        request_id: request_id.clone(),
                        owner: None,
                        epoch: 0,
                        claims: 0,
                        weight: 1,
                        due_at: None,
                        version: 0,
                        max_schema: 1,
                    },
                    submitted_at: at,
                });
            }
            OpenJob::Claim {
                job_id,
                owner,
                epoch,
                weight,
            } => {
                if let Some(job) = self.jobs.get_mut(job_id) {
                    job.row.owner = Some(OwnerId(*owner));
                    job.row.epoch = *epoch;
                    job.row.due_at = None;
                    job.row.weight = weight.unwrap_or(job.row.weight);
                    job.row.claims = if *epoch == 1 { 0 } else { job.row.claims + 1 };
                }
            }
            OpenJob::Settle {
                job_id,
                weight,
                due,
            } => {
                if let Some(job) = self.jobs.get_mut(job_id) {
                    job.row.claims = 0;
                    job.row.weight = *weight;
                    job.row.due_at = *due;
                }
            }
            OpenJob::Close { job_id } => {
                self.jobs.remove(job_id);
            }
        }
    }

    /// The row with what its stream says now.
    pub(super) fn row(&self, job: &Job) -> JobRow {
        let stream = self.streams.get(&format!("job:{}", job.row.job_id));
        JobRow {
            version: stream.map_or(0, |s| s.positions.len() as u64),
            max_schema: stream.map_or(1, |s| s.max_schema),
            ..job.row.clone()
        }
    }
}

pub(super) fn done<T: Send + 'static>(value: T) -> BoxFuture<'static, Result<T, LogError>> {
    Box::pin(ready(Ok(value)))
}

impl Log for MemoryLog {
    fn append<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Result<Committed, LogError>> {
        done(self.lock().append(batch, (self.clock)()))
    }

    fn read_stream<'a>(
        &'a self,
        stream: &'a str,
        after_version: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, LogError>> {
        let inner = self.lock();
        let skip = usize::try_from(after_version).unwrap_or(usize::MAX);
        let positions = inner.streams.get(stream).map_or(&[][..], |s| &s.positions);
        let wanted = positions.iter().skip(skip).take(limit);
        done(
            wanted
                .filter_map(|p| inner.events.get(*p).cloned())
                .collect(),
        )
    }

    fn read_streams<'a>(
        &'a self,
        streams: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Recorded>, LogError>> {
        let inner = self.lock();
        let found = streams.iter().filter_map(|name| inner.streams.get(name));
        let places = found.flat_map(|stream| stream.positions.iter());
        done(
            places
                .filter_map(|p| inner.events.get(*p).cloned())
                .collect(),
        )
    }

    fn read_log<'a>(
        &'a self,
        after_pos: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, LogError>> {
        let skip = usize::try_from(after_pos).unwrap_or(usize::MAX);
        done(
            self.lock()
                .events
                .iter()
                .skip(skip)
                .take(limit)
                .cloned()
                .collect(),
        )
    }

    fn now(&self) -> BoxFuture<'_, Result<DateTime<Utc>, LogError>> {
        done((self.clock)())
    }
}
