//! The event log: what may be appended to it, and how it is read.
//!
//! [`PostgresLog`] is the real one, [`MemoryLog`] the one for simulations and fast tests; one contract
//! suite holds for both. SQL stands only in `postgres.rs`, `open_jobs.rs` and `secrets.rs`.

mod batch;
mod error;
mod jobs;
mod memory;
mod memory_jobs;
mod open_jobs;
mod postgres;
pub(crate) mod secrets;

use chrono::{DateTime, Utc};
use domain::event::{Event, Hash};
use domain::trace::TraceParent;
use futures_util::future::BoxFuture;
use uuid::Uuid;

pub use batch::{Batch, Encoding};
pub use error::LogError;
pub use jobs::{JobRow, OpenJobs, Orphans, Owned};
pub use memory::{Clock, MemoryLog};
pub use postgres::{Connect, PostgresLog, pool_options};

/// What one stream is to get. Several of them in one group stand or fall together.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    pub stream: String,
    pub expected: Expected,
    pub org_id: String,
    pub meta: Meta,
    pub events: Vec<Event>,
    /// What becomes of the job's row in `open_jobs`.
    pub open_job: Option<OpenJob>,
    /// Nothing is ever appended to this stream after this.
    pub closes: bool,
}

/// Where in the stream the events go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Right after this version; 0 makes the stream.
    Version(u64),
    /// After whatever is there. The stream must exist and be open.
    Any,
}

/// Who wanted the events, and why. Opaque ids only: the log keeps them for ever.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Meta {
    pub actor: String,
    pub command_id: Uuid,
    /// What the whole story began with: the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
    /// What led to this command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation: Option<String>,
    /// The trace (W3C) that the command belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// A change of a job's row in `open_jobs`, made in the commit of the events it follows from.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenJob {
    /// A request waits for its job.
    Open {
        job_id: String,
        request_id: String,
    },
    Claim {
        job_id: String,
        owner: Uuid,
        epoch: u64,
        weight: Option<u32>,
    },
    /// The owner has folded the job and works on it; or puts it down until `due`.
    Settle {
        job_id: String,
        weight: u32,
        due: Option<DateTime<Utc>>,
    },
    Close {
        job_id: String,
    },
}

/// An event as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub pos: u64,
    pub stream_id: String,
    pub version: u64,
    pub kind: String,
    pub schema_ver: u16,
    pub org_id: String,
    pub payload: Vec<u8>,
    pub meta: Vec<u8>,
    pub recorded_at: DateTime<Utc>,
    pub leaf: Hash,
}

impl Recorded {
    /// The event itself.
    pub fn decode(&self) -> Result<Event, domain::event::DecodeError> {
        domain::event::decode(&self.kind, self.schema_ver, &self.payload)
    }

    /// The trace that it was written for.
    #[must_use]
    pub fn trace(&self) -> Option<TraceParent> {
        let meta: Meta = serde_json::from_slice(&self.meta).ok()?;
        meta.trace?.parse().ok()
    }
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// Position of its first event, if any was appended.
    pub first_pos: u64,
    pub at: DateTime<Utc>,
    /// One per command.
    pub outcomes: Vec<CommandOutcome>,
}

/// What became of one command of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// The stream has this version now.
    Appended { version: u64 },
    /// Nothing was appended; the stream has this version, or is closed, or a command of the same
    /// group could not be appended.
    Conflict { version: u64 },
}

/// The log as the write side needs it.
pub trait Log: OpenJobs + Send + Sync + 'static {
    /// Appends a batch in one commit. Sent again, the same batch is answered as the first time.
    fn append<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Result<Committed, LogError>>;

    /// Events of one stream after a version, in order, at most `limit`.
    fn read_stream<'a>(
        &'a self,
        stream: &'a str,
        after_version: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, LogError>>;

    /// All events of several short streams, each in order.
    fn read_streams<'a>(
        &'a self,
        streams: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Recorded>, LogError>>;

    /// Events of all streams after a position, in order, at most `limit`.
    fn read_log<'a>(
        &'a self,
        after_pos: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Recorded>, LogError>>;

    /// The time by the clock that all processes share.
    fn now(&self) -> BoxFuture<'_, Result<DateTime<Utc>, LogError>>;
}

/// Events that one command may put into one batch, so that no job holds up the others.
pub const COMMAND_EVENTS_MAX: usize = domain::job::APPEND_EVENTS_MAX;
