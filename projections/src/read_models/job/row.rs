//! The rows of jobs and nodes while they are folded in memory.
//!
//! Small columns are kept and written whole. Large ones are only carried from the event to the
//! row: a [`Patch`] says whether they change.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::id::NodeId;
use domain::job::{JobStatus, NodeStatus};
use uuid::Uuid;

/// What becomes of a large column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Patch {
    #[default]
    Keep,
    /// Text, or JSON as text.
    Set(Option<String>),
}

impl Patch {
    pub(crate) fn is_set(&self) -> bool {
        matches!(self, Self::Set(_))
    }

    pub(crate) fn value(&self) -> Option<&str> {
        match self {
            Self::Set(Some(text)) => Some(text),
            Self::Keep | Self::Set(None) => None,
        }
    }
}

/// Where an event stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) pos: i64,
    pub(crate) at: DateTime<Utc>,
}

/// A row of `dag_jobs`.
#[derive(Debug, Clone)]
pub(crate) struct JobRow {
    pub(crate) job_id: Arc<str>,
    pub(crate) workflow_id: String,
    pub(crate) workflow_version: i32,
    pub(crate) workflow_hash: String,
    pub(crate) status: JobStatus,
    /// Only when the job is new.
    pub(crate) input_params: Option<String>,
    pub(crate) request_id: String,
    pub(crate) org_id: String,
    pub(crate) priority: String,
    pub(crate) origin: Option<String>,
    pub(crate) owner_id: Option<String>,
    pub(crate) owner_epoch: Option<i64>,
    pub(crate) paused: bool,
    pub(crate) result: Patch,
    pub(crate) failure: Patch,
    pub(crate) total_stages: i32,
    pub(crate) counts: [i32; NodeStatus::ALL.len()],
    pub(crate) degraded: bool,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) completed_at: Option<DateTime<Utc>>,
    pub(crate) last_pos: i64,
}

/// A row of `dag_node_states`; its key is kept beside it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) ordinal: i32,
    pub(crate) stage: i32,
    pub(crate) kind: &'static str,
    pub(crate) status: NodeStatus,
    pub(crate) attempt: i32,
    pub(crate) epoch: i32,
    pub(crate) lost_runs: i32,
    pub(crate) handler: Option<Arc<str>>,
    pub(crate) queue: Option<Arc<str>>,
    pub(crate) worker: Option<String>,
    pub(crate) run: Option<Uuid>,
    pub(crate) branch: Option<i32>,
    pub(crate) skip_reason: Option<&'static str>,
    pub(crate) skipped_by: Option<String>,
    pub(crate) dispatched_pos: Option<i64>,
    pub(crate) ready_at: Option<DateTime<Utc>>,
    pub(crate) dispatched_at: Option<DateTime<Utc>>,
    pub(crate) started_at: Option<DateTime<Utc>>,
    pub(crate) completed_at: Option<DateTime<Utc>>,
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) last_pos: i64,
    pub(crate) output: Patch,
    pub(crate) external: Patch,
    pub(crate) error_message: Patch,
    pub(crate) failure: Patch,
    pub(crate) checkpoint: Patch,
    /// Must be written with this batch.
    pub(crate) dirty: bool,
    /// Has no row yet.
    pub(crate) fresh: bool,
}

impl Node {
    pub(crate) fn new(status: NodeStatus, place: Place) -> Self {
        Self {
            ordinal: 0,
            stage: 0,
            kind: "task",
            status,
            attempt: 1,
            epoch: 0,
            lost_runs: 0,
            handler: None,
            queue: None,
            worker: None,
            run: None,
            branch: None,
            skip_reason: None,
            skipped_by: None,
            dispatched_pos: None,
            ready_at: None,
            dispatched_at: None,
            started_at: None,
            completed_at: None,
            updated_at: place.at,
            last_pos: place.pos,
            output: Patch::Keep,
            external: Patch::Keep,
            error_message: Patch::Keep,
            failure: Patch::Keep,
            checkpoint: Patch::Keep,
            dirty: false,
            fresh: false,
        }
    }

    /// The row is in the database now.
    pub(crate) fn settle(&mut self) {
        self.dirty = false;
        self.fresh = false;
        for patch in [
            &mut self.output,
            &mut self.external,
            &mut self.error_message,
            &mut self.failure,
            &mut self.checkpoint,
        ] {
            *patch = Patch::Keep;
        }
    }
}

/// A job with those of its nodes that were touched lately.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) row: JobRow,
    pub(crate) nodes: HashMap<NodeId, Node>,
    /// Fan-outs that were expanded in this batch; their children are not rows yet.
    pub(crate) groups: Vec<Group>,
    pub(crate) dirty: bool,
    /// The batch that touched it last.
    pub(crate) touched: u64,
}

/// A fan-out that was expanded in this batch.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: Arc<str>,
    pub(crate) count: u32,
    /// Every child as it begins.
    pub(crate) child: Node,
    /// Children that were taken over since.
    pub(crate) reused: Vec<(u32, u32, Place)>,
}

/// The number of a status in the counts of a job.
pub(crate) fn slot(status: NodeStatus) -> usize {
    status as usize
}

/// The word of a kind of node, from the database.
pub(crate) fn kind_word(word: &str) -> &'static str {
    match word {
        "start" => "start",
        "end" => "end",
        "conditional" => "conditional",
        "fan_out" => "fan_out",
        "fan_in" => "fan_in",
        _ => "task",
    }
}

/// The word of a reason to skip, from the database.
pub(crate) fn skip_word(word: &str) -> &'static str {
    match word {
        "branch_not_taken" => "branch_not_taken",
        "condition_false" => "condition_false",
        _ => "job_ended",
    }
}
