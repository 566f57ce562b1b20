//! The order to run one task (O-64).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{JobId, NodeId, OwnerId};
use crate::job::checkpoint::Checkpoint;
use crate::job::event::NodeDispatched;
use crate::priority::Priority;
use crate::trace::TraceParent;

/// One sending of one attempt, with its templates resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskMessage {
    /// `{job_id}_{node_id}_{attempt}`
    pub task_id: String,
    pub job_id: JobId,
    pub node_id: NodeId,
    pub handler: String,
    pub params: Value,
    pub timeout_seconds: u32,
    /// How many attempts there were before this one.
    pub retry_count: u32,
    pub attempt: u32,
    /// Which sending of this attempt it is, from 1.
    pub epoch: u32,
    pub queue: String,
    pub priority: Priority,
    /// Who owned the job when this was sent: the first address for reports.
    pub owner: OwnerId,
    /// Where the run before this one had come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
    /// W3C trace context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

/// One sending of one task: what its message and everything that is said about it are recognised by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sending {
    pub job_id: JobId,
    pub node_id: NodeId,
    pub attempt: u32,
    pub epoch: u32,
}

impl TaskMessage {
    /// Which sending it is.
    #[must_use]
    pub fn sending(&self) -> Sending {
        Sending {
            job_id: self.job_id,
            node_id: self.node_id.clone(),
            attempt: self.attempt,
            epoch: self.epoch,
        }
    }

    /// The message that an event of the log stands for. `trace` is that of the job's request, if it came
    /// with one.
    #[must_use]
    pub fn new(
        job_id: JobId,
        owner: OwnerId,
        trace: Option<TraceParent>,
        dispatched: &NodeDispatched,
        checkpoint: Option<&Checkpoint>,
    ) -> Self {
        let trace = trace.map(String::from);
        Self {
            task_id: dispatched.node.task_id(job_id, dispatched.attempt),
            job_id,
            node_id: dispatched.node.clone(),
            handler: dispatched.handler.clone(),
            params: dispatched.params.clone(),
            timeout_seconds: dispatched.timeout_seconds,
            retry_count: dispatched.attempt.saturating_sub(1),
            attempt: dispatched.attempt,
            epoch: dispatched.epoch,
            queue: dispatched.queue.clone(),
            priority: dispatched.priority,
            owner,
            checkpoint: checkpoint.cloned(),
            traceparent: Some(trace.unwrap_or_else(|| derived(job_id, dispatched))),
        }
    }

    /// Tells repeated publishing apart from a new sending.
    #[must_use]
    pub fn dedupe_id(&self) -> String {
        format!("{}:{}", self.task_id, self.epoch)
    }
}

/// Tasks of a job whose request came without a trace share one of their own. Both ids follow from the
/// log, so that publishing again gives the same message.
fn derived(job_id: JobId, dispatched: &NodeDispatched) -> String {
    let span = dispatched.node.task_id(job_id, dispatched.attempt);
    let digest = crate::json::sha256_hex(span.as_bytes());
    let span_id = digest.get(..16).unwrap_or("0000000000000001");
    format!("00-{}-{span_id}-01", job_id.uuid().simple())
}
