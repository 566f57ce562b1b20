//! A batch: the commands of many callers, encoded once into the columns that the store takes.

use domain::event::{Event, Hash, Leaf, encode, leaf_hash};
use uuid::Uuid;

use super::error::LogError;
use super::{Append, Expected, OpenJob};

/// Ready to be appended, and to be sent again without any change.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub batch_id: Uuid,
    pub commands: Vec<Command>,
    pub events: Vec<Row>,
    pub open_jobs: Vec<(usize, OpenJob)>,
}

/// One stream's part of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub stream: String,
    pub expected: Option<u64>,
    pub group: usize,
    pub event_count: usize,
    pub max_schema: u16,
    pub closes: bool,
}

/// One event of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Place of its command.
    pub command: usize,
    /// Unknown for intents: the store counts.
    pub version: Option<u64>,
    pub kind: &'static str,
    pub schema_ver: u16,
    pub org_id: String,
    pub payload: Vec<u8>,
    pub meta: Vec<u8>,
    /// Unknown for intents, because the version is part of it.
    pub leaf: Option<Hash>,
}

/// A group in the form in which it travels to the store.
#[derive(Debug)]
pub struct Encoding {
    pub commands: Vec<(Command, Vec<Row>, Option<OpenJob>)>,
    pub events: usize,
    pub bytes: usize,
}

impl Encoding {
    /// Encodes the events of a group and computes their leaves.
    pub fn of(group: &[Append]) -> Result<Self, LogError> {
        let mut encoding = Self {
            commands: Vec::with_capacity(group.len()),
            events: 0,
            bytes: 0,
        };
        for append in group {
            let meta = serde_json::to_vec(&append.meta).map_err(unwritable)?;
            let base = match append.expected {
                Expected::Version(version) => Some(version),
                Expected::Any => None,
            };
            let mut rows = Vec::with_capacity(append.events.len());
            for (event, nth) in append.events.iter().zip(1_u64..) {
                let row = row(append, event, base.map(|base| base + nth), meta.clone())?;
                encoding.bytes += row.payload.len() + row.meta.len() + 200;
                rows.push(row);
            }
            encoding.events += rows.len();
            let command = Command {
                stream: append.stream.clone(),
                expected: base,
                group: 0,
                event_count: rows.len(),
                max_schema: rows.iter().map(|row| row.schema_ver).max().unwrap_or(1),
                closes: append.closes,
            };
            encoding
                .commands
                .push((command, rows, append.open_job.clone()));
        }
        Ok(encoding)
    }
}

impl Batch {
    /// An empty batch with an id of its own.
    #[must_use]
    pub fn new(batch_id: Uuid) -> Self {
        Self {
            batch_id,
            commands: Vec::new(),
            events: Vec::new(),
            open_jobs: Vec::new(),
        }
    }

    /// Adds a group as its next one.
    pub fn push(&mut self, encoding: Encoding) {
        let group = self.commands.last().map_or(0, |last| last.group + 1);
        for (mut command, rows, open_job) in encoding.commands {
            let place = self.commands.len();
            command.group = group;
            self.commands.push(command);
            self.open_jobs
                .extend(open_job.map(|change| (place, change)));
            self.events.extend(rows.into_iter().map(|row| Row {
                command: place,
                ..row
            }));
        }
    }

    /// Some commands of this batch, in a batch of their own.
    #[must_use]
    pub fn only(&self, places: &[usize], batch_id: Uuid) -> Self {
        let mut batch = Self::new(batch_id);
        let place_of = |old: usize| places.iter().position(|place| *place == old);
        batch.commands = places
            .iter()
            .filter_map(|place| self.commands.get(*place).cloned())
            .collect();
        batch.events = self
            .events
            .iter()
            .filter_map(|row| {
                place_of(row.command).map(|command| Row {
                    command,
                    ..row.clone()
                })
            })
            .collect();
        batch.open_jobs = self
            .open_jobs
            .iter()
            .filter_map(|(old, change)| place_of(*old).map(|place| (place, change.clone())))
            .collect();
        batch
    }

    /// A batch of one group.
    pub fn of_group(batch_id: Uuid, group: &[Append]) -> Result<Self, LogError> {
        let mut batch = Self::new(batch_id);
        batch.push(Encoding::of(group)?);
        Ok(batch)
    }
}

fn row(
    append: &Append,
    event: &Event,
    version: Option<u64>,
    meta: Vec<u8>,
) -> Result<Row, LogError> {
    let encoded = encode(event).map_err(unwritable)?;
    let leaf = version.map(|version| {
        leaf_hash(&Leaf {
            stream_id: &append.stream,
            version,
            kind: encoded.kind,
            schema_ver: encoded.schema_ver,
            org_id: &append.org_id,
            meta: &meta,
            payload: &encoded.payload,
        })
    });
    Ok(Row {
        command: 0,
        version,
        kind: encoded.kind,
        schema_ver: encoded.schema_ver,
        org_id: append.org_id.clone(),
        payload: encoded.payload,
        meta,
        leaf,
    })
}

#[expect(clippy::needless_pass_by_value, reason = "shape of map_err")]
fn unwritable(error: serde_json::Error) -> LogError {
    LogError::Encode(error.to_string())
}
