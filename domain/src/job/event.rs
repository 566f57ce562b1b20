//! What happened to a job. These are written once and read for ever: see `domain::event`.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::checkpoint::Checkpoint;
use crate::definition::WorkflowRef;
use crate::failure::Failure;
use crate::id::{JobId, NodeId, OwnerId, RequestId, RunId};
use crate::priority::Priority;

/// One fact in the life of a job.
///
/// An event may stand for many nodes at once (an expansion, a skipped branch, the end of a job);
/// `evolve` and the projectors spell that out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    JobCreated(Box<JobCreated>),
    /// A job made from an older one takes over these outputs.
    OutputsReused {
        nodes: Vec<ReusedNode>,
        children: Vec<ReusedChildren>,
    },
    /// An orchestrator owns the job. No timeout fires before `grace_until`.
    JobClaimed {
        owner: OwnerId,
        epoch: u64,
        grace_until: DateTime<Utc>,
    },
    JobStarted,
    JobPaused {
        reason: String,
    },
    JobResumed,
    /// Dependencies are satisfied, or a retry is due.
    NodesReady {
        nodes: Vec<NodeId>,
    },
    /// These nodes will not run, `because` of a decision at one node; descendants are listed too.
    NodesSkipped {
        nodes: Vec<NodeId>,
        reason: SkipReason,
        because: NodeId,
    },
    /// The engine did the work of this node itself.
    NodePassed {
        node: NodeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
    },
    /// A conditional chose its branch, counted from 0.
    BranchTaken {
        node: NodeId,
        branch: u32,
    },
    /// Children `node__0` to `node__{n-1}` exist and are ready.
    FanOutExpanded {
        node: NodeId,
        items: Items,
    },
    /// These children have the outputs of older jobs.
    ChildrenReused {
        node: NodeId,
        ranges: Vec<ReusedRange>,
    },
    /// The node has the output of the older job.
    NodeReused {
        node: NodeId,
    },
    NodeDispatched(Box<NodeDispatched>),
    /// The message was lost, on evidence; it is sent again under a new epoch.
    NodeRedispatched {
        node: NodeId,
        attempt: u32,
        epoch: u32,
        deadline_at: DateTime<Utc>,
    },
    NodeStarted {
        node: NodeId,
        attempt: u32,
        epoch: u32,
        run: RunId,
        worker: String,
        deadline_at: DateTime<Utc>,
    },
    CheckpointSaved {
        node: NodeId,
        attempt: u32,
        epoch: u32,
        run: RunId,
        checkpoint: Checkpoint,
    },
    NodeCompleted(Box<NodeCompleted>),
    NodeFailed(Box<NodeFailed>),
    /// The worker vanished; the node will be dispatched again in the same attempt.
    RunLost {
        node: NodeId,
        attempt: u32,
        epoch: u32,
        run: RunId,
    },
    /// The worker has left and handed the task back; the node will be dispatched again in the same attempt.
    RunReleased {
        node: NodeId,
        attempt: u32,
        epoch: u32,
        run: RunId,
    },
    /// A report that was not current: recorded, without effect.
    ReportIgnored {
        node: NodeId,
        attempt: u32,
        epoch: u32,
        run: RunId,
        report: String,
        reason: String,
    },
    JobCompleted {
        result: Value,
    },
    /// Nodes that were waiting are skipped, nodes that were at work are failed as cancelled.
    JobFailed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeId>,
        failure: Failure,
    },
    /// As for a failed job.
    JobCancelled {
        reason: String,
    },
}

/// The first event of every job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobCreated {
    pub job_id: JobId,
    pub request_id: RequestId,
    pub workflow: WorkflowRef,
    /// With defaults filled in.
    pub inputs: Map<String, Value>,
    /// Values of the deployment that templates may read.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub env: Map<String, Value>,
    pub priority: Priority,
    /// No retries at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The job that this one was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "job_id", rename_all = "snake_case")]
pub enum Origin {
    RetryOf(JobId),
    ForkedFrom(JobId),
}

/// A completed node of the older job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReusedNode {
    pub node: NodeId,
    pub output: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<Blob>,
}

/// Completed children of a fan-out of the older job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReusedChildren {
    pub node: NodeId,
    /// SHA-256 of the items; other items now mean that nothing is reused.
    pub items_hash: String,
    pub ranges: Vec<ReusedRange>,
    /// Their outputs in order, unless they were too large to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<Value>>,
    /// Without the outputs: the sums that later nodes need.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub sums: Map<String, Value>,
    /// Without the outputs: the first and the last, if later nodes need them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<(u32, Value)>,
    /// Without the outputs: what each child hands to the next stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<(u32, Value)>,
}

/// Some children in a row, and the job that ran them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusedRange {
    pub first: u32,
    /// Inclusive.
    pub last: u32,
    pub job_id: JobId,
}

/// What a fan-out works on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Items {
    /// The items are the numbers below it.
    Count(u32),
    List(Vec<Value>),
}

impl Items {
    /// Tells items apart without keeping them twice.
    #[must_use]
    pub fn hash(&self) -> String {
        let value = match self {
            Self::Count(count) => (*count).into(),
            Self::List(items) => Value::Array(items.clone()),
        };
        crate::json::sha256_hex(crate::json::canonical(&value).as_bytes())
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::Count(count) => *count,
            // `decide` never makes a longer list.
            Self::List(items) => u32::try_from(items.len()).unwrap_or(u32::MAX),
        }
    }
}

/// Why nodes were skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// A conditional took another branch.
    BranchNotTaken,
    /// The node's own `when` did not hold.
    ConditionFalse,
}

/// A task was handed to a queue. Everything that its message needs is here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeDispatched {
    pub node: NodeId,
    pub attempt: u32,
    /// Which sending of this attempt it is, from 1.
    pub epoch: u32,
    pub handler: String,
    pub queue: String,
    pub priority: Priority,
    pub params: Value,
    pub timeout_seconds: u32,
    /// When waiting for a worker becomes a timeout.
    pub deadline_at: DateTime<Utc>,
}

/// A worker finished a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeCompleted {
    pub node: NodeId,
    pub attempt: u32,
    pub epoch: u32,
    pub run: RunId,
    pub worker: String,
    pub output: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<Blob>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metrics: Map<String, Value>,
}

/// An attempt ended badly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeFailed {
    pub node: NodeId,
    pub attempt: u32,
    pub epoch: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    pub failure: Failure,
    /// When it was decided, if there is a next attempt: `retry_at` counts from here, so that a replay sees which
    /// pause was chosen. Events of older builds do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<DateTime<Utc>>,
    /// When the next attempt is due; none is made without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<DateTime<Utc>>,
}

/// Content that is too large for an event and lies in the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    pub uri: String,
    pub sha256: String,
    pub size_bytes: u64,
}

impl Blob {
    /// The same without U+0000 in its texts.
    #[must_use]
    pub(super) fn cleaned(self) -> Self {
        let clean = crate::json::clean_text;
        Self {
            uri: clean(&self.uri),
            sha256: clean(&self.sha256),
            ..self
        }
    }
}
