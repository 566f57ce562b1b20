//! The installation itself, for those who look after it.

use async_graphql::{Object, SimpleObject};
use chrono::{DateTime, Utc};
use commands::access::Key as KeyRow;
use projections::dead_letters::DeadLetter as LetterRow;
use projections::read;

use super::context::Position;
use super::words::{Priority, Role};
use crate::ops::fleet::{QueueSeen, WorkerSeen};

/// An orchestrator, by its lease.
#[derive(Debug, SimpleObject)]
pub(super) struct Orchestrator {
    id: String,
    host: String,
    started_at: DateTime<Utc>,
    heartbeat_at: DateTime<Utc>,
    /// So long it counts as alive without a heartbeat.
    lease_seconds: f64,
    is_alive: bool,
    /// Jobs that it owns and that have not ended.
    open_jobs: i64,
    /// Nodes of these jobs.
    open_nodes: i64,
}

impl From<read::Owner> for Orchestrator {
    fn from(row: read::Owner) -> Self {
        Self {
            id: row.owner_id.to_string(),
            host: row.host,
            started_at: row.started_at,
            heartbeat_at: row.beat_at,
            lease_seconds: row.stale_seconds,
            is_alive: row.is_alive,
            open_jobs: row.open_jobs,
            open_nodes: row.open_nodes,
        }
    }
}

/// A worker, by its heartbeats.
#[derive(Debug, SimpleObject)]
pub(super) struct Worker {
    id: String,
    queues: Vec<QueueSlots>,
    /// Tasks that it runs now.
    running: i64,
    /// Seconds since its last heartbeat.
    silence_seconds: f64,
}

/// How many tasks of a queue a worker runs at once.
#[derive(Debug, SimpleObject)]
pub(super) struct QueueSlots {
    queue: String,
    slots: u32,
}

impl From<WorkerSeen> for Worker {
    fn from(seen: WorkerSeen) -> Self {
        let slots = |one: domain::message::QueueSlots| QueueSlots {
            queue: one.queue,
            slots: one.slots,
        };
        Self {
            id: seen.worker_id,
            queues: seen.slots.into_iter().map(slots).collect(),
            running: i64::try_from(seen.running).unwrap_or(i64::MAX),
            silence_seconds: seen.silence.as_secs_f64(),
        }
    }
}

/// One priority of one queue.
#[derive(Debug, SimpleObject)]
pub(super) struct Queue {
    queue: String,
    priority: Priority,
    /// Messages that no worker has taken. What is ready beyond that waits with the orchestrators.
    depth: u64,
    /// Messages that workers hold.
    in_flight: u64,
    /// How long the oldest of those waits that no worker has taken.
    oldest_age_seconds: Option<f64>,
}

impl From<QueueSeen> for Queue {
    fn from(seen: QueueSeen) -> Self {
        Self {
            queue: seen.queue,
            priority: Priority::of(seen.priority.as_str()),
            depth: seen.pending,
            in_flight: seen.in_flight,
            oldest_age_seconds: seen.oldest_age.map(|age| age.as_secs_f64()),
        }
    }
}

/// A read model and how far it is.
#[derive(Debug, SimpleObject)]
pub(super) struct Projection {
    name: String,
    version: i32,
    position: Position,
    /// Events that it has not come to yet.
    lag: i64,
    is_led: bool,
    leader: Option<String>,
    updated_at: DateTime<Utc>,
}

impl Projection {
    pub(super) fn of(row: read::Checkpoint, head: i64) -> Self {
        Self {
            lag: (head - row.pos).max(0),
            name: row.name,
            version: row.version,
            position: Position(row.pos),
            is_led: row.is_led,
            leader: row.leader.map(|id| id.to_string()),
            updated_at: row.updated_at,
        }
    }
}

/// A message that nobody could make sense of.
pub(super) struct DeadLetter(pub(super) LetterRow);

#[Object]
impl DeadLetter {
    async fn id(&self) -> i64 {
        self.0.id
    }

    async fn subject(&self) -> &str {
        &self.0.subject
    }

    async fn reason(&self) -> &str {
        &self.0.reason
    }

    /// What is kept of it, as text.
    async fn payload(&self) -> String {
        String::from_utf8_lossy(&self.0.payload).into_owned()
    }

    async fn size_bytes(&self) -> i64 {
        self.0.size_bytes
    }

    /// Whether what is kept is what was sent, so that it can be sent again.
    async fn is_whole(&self) -> bool {
        is_whole(&self.0)
    }

    async fn received_at(&self) -> DateTime<Utc> {
        self.0.received_at
    }
}

/// Whether what is kept is what was sent: cutting changes the length, and bytes that were no text have left a
/// mark.
pub(super) fn is_whole(letter: &LetterRow) -> bool {
    let kept = i64::try_from(letter.payload.len()).ok();
    let text = std::str::from_utf8(&letter.payload);
    kept == Some(letter.size_bytes) && text.is_ok_and(|text| !text.contains('\u{fffd}'))
}

/// A key, without the part that opens doors.
pub(super) struct Key(pub(super) KeyRow);

#[Object]
impl Key {
    /// Opaque; the actor of what its holder does.
    async fn id(&self) -> &str {
        &self.0.key_id
    }

    async fn org_id(&self) -> &str {
        &self.0.org_id
    }

    async fn label(&self) -> &str {
        &self.0.label
    }

    async fn role(&self) -> Option<Role> {
        self.0.role.parse().ok().map(Role::of)
    }

    async fn operator(&self) -> bool {
        self.0.operator
    }

    /// The beginning of the key.
    async fn prefix(&self) -> &str {
        &self.0.prefix
    }

    async fn created_by(&self) -> &str {
        &self.0.created_by
    }

    async fn created_at(&self) -> DateTime<Utc> {
        self.0.created_at
    }

    async fn expires_at(&self) -> Option<DateTime<Utc>> {
        self.0.expires_at
    }

    async fn revoked_at(&self) -> Option<DateTime<Utc>> {
        self.0.revoked_at
    }

    async fn last_used_at(&self) -> Option<DateTime<Utc>> {
        self.0.last_used_at
    }
}

/// A partner system and how it names its datasets.
#[derive(Debug, SimpleObject)]
pub(super) struct Platform {
    id: String,
    name: String,
    required_refs: Vec<String>,
    optional_refs: Vec<String>,
    registered_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl From<read::Platform> for Platform {
    fn from(row: read::Platform) -> Self {
        Self {
            id: row.platform_id,
            name: row.name,
            required_refs: row.required_refs,
            optional_refs: row.optional_refs,
            registered_at: row.registered_at,
            updated_at: row.updated_at,
        }
    }
}

/// How the platform is, for everybody.
#[derive(Debug, SimpleObject)]
pub(crate) struct Health {
    /// `ok`, or `degraded` with reasons.
    pub(crate) status: String,
    pub(crate) reasons: Vec<String>,
    /// The end of the log.
    pub(crate) position: Position,
    /// Events that the read models have not come to yet.
    pub(crate) lag: i64,
    pub(crate) orchestrators_alive: i64,
    pub(crate) workers_heard: i64,
    pub(crate) version: String,
}

/// Whoever asks, as the API sees them.
#[derive(Debug, SimpleObject)]
pub(super) struct Me {
    pub(super) key_id: String,
    pub(super) org_id: String,
    pub(super) role: Role,
    pub(super) operator: bool,
}
