//! What others may read of a job: the same facts that decisions use.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::checkpoint::Checkpoint;
use super::command::Fence;
use super::event::{Blob, JobCreated};
use super::state::{Slot, State};
use super::status::{JobStatus, NodeStatus};
use crate::definition::Graph;
use crate::failure::Failure;
use crate::id::{NodeId, RunId};
use crate::priority::Priority;

/// One node or child, as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeView<'a> {
    pub id: NodeId,
    pub status: NodeStatus,
    /// The current or latest attempt, from 1.
    pub attempt: u32,
    /// Which sending of this attempt was the latest; 0 before the first.
    pub epoch: u32,
    pub run: Option<RunId>,
    /// A child of a fan-out has its output only while the results are small enough to keep.
    pub output: Option<&'a Value>,
    pub external: Option<&'a Blob>,
    pub failure: Option<&'a Failure>,
    pub checkpoint: Option<&'a Checkpoint>,
}

/// How many nodes and children have each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub pending: usize,
    pub ready: usize,
    pub dispatched: usize,
    pub running: usize,
    pub completed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl State {
    /// Where the job stands.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        self.status
    }

    /// The compiled workflow it runs.
    #[must_use]
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Its first event; `None` before it exists.
    #[must_use]
    pub fn created(&self) -> Option<&JobCreated> {
        self.created.as_deref()
    }

    /// Its owner and the epoch of the ownership.
    #[must_use]
    pub fn claim(&self) -> Option<Fence> {
        self.claim
    }

    /// Whether dispatch is held back.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// What it answered, once completed.
    #[must_use]
    pub fn result(&self) -> Option<&Value> {
        self.result.as_ref()
    }

    /// Why it failed, and at which node.
    #[must_use]
    pub fn failure(&self) -> Option<(Option<&NodeId>, &Failure)> {
        self.failure
            .as_ref()
            .map(|(node, failure)| (node.as_ref(), failure))
    }

    /// How many nodes and children have each status.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            pending: self.count(NodeStatus::Pending),
            ready: self.count(NodeStatus::Ready),
            dispatched: self.count(NodeStatus::Dispatched),
            running: self.count(NodeStatus::Running),
            completed: self.count(NodeStatus::Completed),
            failed: self.count(NodeStatus::Failed),
            skipped: self.count(NodeStatus::Skipped),
        }
    }

    /// One node or child.
    #[must_use]
    pub fn node(&self, id: &NodeId) -> Option<NodeView<'_>> {
        self.slot(id).and_then(|slot| self.view(slot))
    }

    /// All nodes in topological order, each fan-out followed by its children.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'_>> {
        (0..self.nodes.len()).flat_map(move |node| {
            let children = self.groups.get(&node).map_or(0, super::group::Group::count);
            let slots = std::iter::once(None).chain((0..children).map(Some));
            slots.filter_map(move |child| self.view(Slot { node, child }))
        })
    }

    /// The queues and priorities that have ready work.
    pub fn ready_lanes(&self) -> impl Iterator<Item = (&Arc<str>, Priority)> {
        self.lanes
            .keys()
            .map(|(queue, priority)| (queue, *priority))
    }

    /// The branch that a conditional took, counted from 0.
    #[must_use]
    pub fn branch_taken(&self, name: &str) -> Option<u32> {
        self.nodes.get(self.graph.find(name)?)?.branch
    }

    fn view(&self, slot: Slot) -> Option<NodeView<'_>> {
        let work = self.work(slot)?;
        let node = self.nodes.get(slot.node).filter(|_| slot.child.is_none());
        let child_output = || {
            self.groups
                .get(&slot.node)
                .and_then(|g| g.results.get(slot.child?))
        };
        Some(NodeView {
            id: self.id(slot),
            status: work.status,
            attempt: work.attempt,
            epoch: work.epoch,
            run: work.run,
            output: node.map_or_else(child_output, |n| n.output.as_ref()),
            external: node.and_then(|n| n.external.as_ref()),
            failure: work.failure.as_deref(),
            checkpoint: work.checkpoint.as_deref(),
        })
    }
}
