//! Why a node is not running, answered by the same facts and limits that decide it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::event::SkipReason;
use super::state::{Slot, State};
use super::status::{JobStatus, NodeStatus};
use crate::definition::graph::Kind;
use crate::failure::Failure;
use crate::id::{NodeId, RunId};
use crate::priority::Priority;

/// Predecessors that an answer names; a node may have thousands.
const NAMED_MAX: usize = 20;

/// Where a node stands, and what it waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Why {
    /// It is done.
    Completed,
    /// It will not run, because of a decision at another node or its own `when`.
    Skipped { because: NodeId, how: SkipReason },
    /// It never ran, because the job ended first.
    JobEnded { status: JobStatus },
    /// It failed for good.
    Failed { failure: Failure },
    /// Its predecessors are not done.
    WaitsForNodes { nodes: Vec<NodeId>, more: usize },
    /// The engine will come to it with its next step.
    WaitsForEngine,
    /// The job is paused.
    Paused,
    /// So many children as allowed are at work.
    WaitsForSibling { max_parallel: u32, at_work: u32 },
    /// It is ready; its queue's window has no room yet.
    WaitsForWindow { queue: String, priority: Priority },
    /// It failed and will be tried again.
    WaitsForRetry {
        due: DateTime<Utc>,
        attempt: u32,
        failure: Failure,
    },
    /// It is in its queue, and no worker has taken it.
    WaitsForWorker {
        queue: String,
        priority: Priority,
        deadline: Option<DateTime<Utc>>,
    },
    /// A worker is at it.
    Running {
        run: Option<RunId>,
        attempt: u32,
        deadline: Option<DateTime<Utc>>,
    },
    /// Its children are at work.
    WaitsForChildren { completed: u32, total: u32 },
}

/// Why a node is not running; `None` if the job has no such node.
#[must_use]
pub fn why(state: &State, node: &NodeId) -> Option<Why> {
    let slot = state.slot(node)?;
    let work = state.work(slot)?;
    let due = work.due_ms.and_then(DateTime::from_timestamp_millis);
    let lane = || {
        state
            .lane(slot.node)
            .map(|(queue, priority)| (queue.to_string(), priority))
    };
    Some(match work.status {
        NodeStatus::Completed => Why::Completed,
        NodeStatus::Skipped => match state.nodes.get(slot.node).and_then(|n| n.skipped.clone()) {
            Some((how, because)) if slot.child.is_none() => Why::Skipped { because, how },
            _ => Why::JobEnded {
                status: state.status,
            },
        },
        NodeStatus::Failed => {
            let failure = work.failure.as_deref().cloned()?;
            match due {
                Some(due) => Why::WaitsForRetry {
                    due,
                    attempt: work.attempt + 1,
                    failure,
                },
                None => Why::Failed { failure },
            }
        }
        NodeStatus::Pending => waits_for(state, slot),
        NodeStatus::Ready => ready(state, slot)?,
        NodeStatus::Dispatched => {
            let (queue, priority) = lane()?;
            Why::WaitsForWorker {
                queue,
                priority,
                deadline: due,
            }
        }
        NodeStatus::Running => match (slot.child, state.groups.get(&slot.node)) {
            (None, Some(group)) => Why::WaitsForChildren {
                completed: group.count() - group.remaining,
                total: group.count(),
            },
            _ => Why::Running {
                run: work.run,
                attempt: work.attempt,
                deadline: due,
            },
        },
    })
}

/// The predecessors that a pending node still needs.
fn waits_for(state: &State, slot: Slot) -> Why {
    let done = |s| matches!(s, NodeStatus::Completed | NodeStatus::Skipped);
    let incoming = state.graph.node(slot.node).map_or(&[][..], |n| &n.incoming);
    let mut open = incoming
        .iter()
        .map(|ix| Slot::node(*ix))
        .filter(|slot| state.work(*slot).is_some_and(|w| !done(w.status)));
    let nodes: Vec<_> = open
        .by_ref()
        .take(NAMED_MAX)
        .map(|slot| state.id(slot))
        .collect();
    if nodes.is_empty() {
        return Why::WaitsForEngine;
    }
    Why::WaitsForNodes {
        nodes,
        more: open.count(),
    }
}

/// What holds back a node that `dispatch` could take.
fn ready(state: &State, slot: Slot) -> Option<Why> {
    if state.paused {
        return Some(Why::Paused);
    }
    let (queue, priority) = state.lane(slot.node)?;
    if let (Some(_), Some(group)) = (slot.child, state.groups.get(&slot.node))
        && let Kind::FanOut(spec) = &state.graph.node(slot.node)?.kind
        && group.room(spec.max_parallel) == 0
    {
        let max_parallel = spec.max_parallel.unwrap_or(u32::MAX);
        return Some(Why::WaitsForSibling {
            max_parallel,
            at_work: group.in_flight,
        });
    }
    Some(Why::WaitsForWindow {
        queue: queue.to_string(),
        priority,
    })
}
