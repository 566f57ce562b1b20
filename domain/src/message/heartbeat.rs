//! Signs of life: which runs are alive, and how much a worker can take.

use serde::{Deserialize, Serialize};

use crate::id::{JobId, NodeId, RunId};

/// Sent by every worker every few seconds to all orchestrators; a long list is sent in parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    pub worker_id: String,
    /// How many tasks of each queue it runs at once; empty when it is about to leave.
    pub slots: Vec<QueueSlots>,
    pub runs: Vec<RunRef>,
}

/// The places of a worker for one queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSlots {
    pub queue: String,
    pub slots: u32,
}

/// One run, with all that an owner needs to judge it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRef {
    pub job_id: JobId,
    pub node_id: NodeId,
    pub attempt: u32,
    pub epoch: u32,
    pub run_id: RunId,
}

/// An owner's order to one worker: the results of these runs no longer count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRuns {
    pub runs: Vec<RunId>,
}

impl Heartbeat {
    /// Most runs in one message.
    pub const RUNS_MAX: usize = 1_000;
}
