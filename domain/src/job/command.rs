//! What may be asked of a job.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::checkpoint::Checkpoint;
use super::event::{Blob, JobCreated, ReusedChildren, ReusedNode};
use crate::failure::Failure;
use crate::id::{NodeId, OwnerId, RunId};
use crate::priority::Priority;

/// A wish that `decide` turns into events or refuses.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Make the job and own it.
    Create(Box<Create>),
    /// Take over from an owner that is gone: the epoch is one higher than its.
    Claim,
    /// Hand ready tasks to queues.
    Dispatch(Window),
    /// A worker tells how its task goes.
    Report(Box<Report>),
    /// A worker vanished in the middle of a run.
    RunLost {
        node: NodeId,
        attempt: u32,
        epoch: u32,
        run: RunId,
    },
    /// There is evidence that a task message no longer exists.
    MessageLost {
        node: NodeId,
        attempt: u32,
        epoch: u32,
    },
    /// Time has passed: fire what is due.
    TimePassed,
    /// Go on with what the engine does by itself. `handle` does this after every command.
    Advance,
    Cancel {
        reason: String,
    },
    Pause {
        reason: String,
    },
    Resume,
}

/// A wish from outside that is written without folding the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    Cancel { reason: String },
    Pause { reason: String },
    Resume,
}

/// A new job. Inputs have been checked and completed against the workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Create {
    pub job: JobCreated,
    pub reused_nodes: Vec<ReusedNode>,
    pub reused_children: Vec<ReusedChildren>,
}

/// How many tasks each queue and priority can take now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    pub slots: BTreeMap<(Arc<str>, Priority), u32>,
}

/// A message of a worker about one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub node: NodeId,
    pub attempt: u32,
    pub epoch: u32,
    pub run: RunId,
    pub worker: String,
    pub outcome: Outcome,
}

/// How a run goes.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Started,
    Checkpoint(Checkpoint),
    Completed {
        output: Value,
        external: Option<Blob>,
        metrics: Map<String, Value>,
    },
    Failed(Failure),
    /// The worker leaves and hands the task back, unfinished and without blame.
    Released,
}

impl Outcome {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Checkpoint(_) => "checkpoint",
            Self::Completed { .. } => "completed",
            Self::Failed(_) => "failed",
            Self::Released => "released",
        }
    }
}

/// Who writes: proof of ownership that every write of an owner carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    pub owner: OwnerId,
    pub epoch: u64,
}

impl Fence {
    /// How the log says under which claim something was written.
    #[must_use]
    pub fn cause(&self) -> String {
        format!("claim {} of {}", self.epoch, self.owner)
    }

    /// The claim that the log names, if that is what it names.
    #[must_use]
    pub fn of_cause(text: &str) -> Option<Self> {
        let (epoch, owner) = text.strip_prefix("claim ")?.split_once(" of ")?;
        Some(Self {
            owner: OwnerId(uuid::Uuid::try_parse(owner).ok()?),
            epoch: epoch.parse().ok()?,
        })
    }
}

/// What the shell knows and the core may not ask for.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    pub now: DateTime<Utc>,
    /// Given by orchestrators; commands from outside (cancel, pause, resume) carry none.
    pub fence: Option<Fence>,
    pub policy: Policy,
}

/// Settings that decisions depend on; what they lead to is written into the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// No timeout fires this long after a claim: workers need time to find the new owner.
    pub claim_grace: Duration,
    /// Workers enforce execution timeouts themselves; the owner steps in this much later.
    pub execution_grace: Duration,
    /// So many lost runs fail the attempt.
    pub lost_runs_max: u32,
    /// A task whose message is lost so often fails its attempt.
    pub sendings_max: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            claim_grace: Duration::from_secs(10),
            execution_grace: Duration::from_secs(3),
            lost_runs_max: 3,
            sendings_max: 20,
        }
    }
}
