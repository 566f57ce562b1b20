//! A job, folded from its events.
//!
//! Everything that a decision needs is kept counted down and indexed, so that the cost of a report
//! does not depend on the size of the job: unmet dependencies per node, ready work per lane, timers
//! in order, children of a fan-out in one flat list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::checkpoint::Checkpoint;
use super::command::Fence;
use super::event::{Blob, JobCreated, ReusedChildren, ReusedNode, SkipReason};
use super::group::Group;
use super::lanes::Lanes;
use super::status::{JobStatus, NodeStatus};
use crate::definition::graph::Node;
use crate::definition::{Graph, NodeIx};
use crate::failure::Failure;
use crate::id::{JobId, NodeId, RunId};

/// A job as its events have made it.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub(super) graph: Arc<Graph>,
    pub(super) created: Option<Box<JobCreated>>,
    pub(super) status: JobStatus,
    pub(super) claim: Option<Fence>,
    pub(super) grace_until: DateTime<Utc>,
    pub(super) paused: bool,
    pub(super) nodes: Vec<NodeState>,
    pub(super) groups: BTreeMap<NodeIx, Group>,
    /// How many nodes and children have each status.
    pub(super) counts: [usize; NodeStatus::ALL.len()],
    pub(super) frontier: Frontier,
    pub(super) lanes: Lanes,
    /// When something is due, and for which node.
    pub(super) timers: BTreeSet<(i64, Slot)>,
    pub(super) reuse: Reuse,
    pub(super) ignored: BTreeSet<(Slot, u32, u32, RunId, String)>,
    pub(super) result: Option<Value>,
    pub(super) failure: Option<(Option<NodeId>, Failure)>,
}

/// Nodes that the engine must look at before it is settled.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Frontier {
    /// All their predecessors are skipped.
    pub(super) dead: BTreeSet<NodeIx>,
    /// Tasks whose dependencies are satisfied.
    pub(super) ready: BTreeSet<NodeIx>,
    /// Nodes that the engine works on itself: also tasks with a `when`, and reused ones.
    pub(super) engine: BTreeSet<NodeIx>,
}

/// Outputs of the older job that this one was made from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reuse {
    pub(super) nodes: BTreeMap<NodeIx, ReusedNode>,
    pub(super) children: BTreeMap<NodeIx, ReusedChildren>,
}

/// A node of the workflow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeState {
    pub(super) work: Work,
    pub(super) arrivals: Arrivals,
    pub(super) output: Option<Value>,
    pub(super) external: Option<Blob>,
    pub(super) branch: Option<u32>,
    pub(super) skipped: Option<(SkipReason, NodeId)>,
}

/// How far a node or a child is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Work {
    pub(super) status: NodeStatus,
    /// The current or latest attempt, from 1.
    pub(super) attempt: u32,
    /// Which sending of this attempt was the latest; 0 before the first.
    pub(super) epoch: u32,
    pub(super) lost_runs: u32,
    pub(super) run: Option<RunId>,
    /// Key of its timer in [`State::timers`].
    pub(super) due_ms: Option<i64>,
    pub(super) checkpoint: Option<Box<Checkpoint>>,
    pub(super) failure: Option<Box<Failure>>,
}

/// The countdown of a node's dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrivals {
    /// Predecessors that must all be done, and are not.
    required: usize,
    /// Predecessors of `any_of` that are not done.
    optional: usize,
    /// One of `any_of` was completed.
    any_live: bool,
    /// Some predecessor was completed.
    live: bool,
    /// The verdict has been given.
    judged: bool,
}

/// What the dependencies say about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Run,
    Skip,
}

impl Arrivals {
    fn new(node: &Node) -> Self {
        let optional = node.any_of.len();
        let required = node.incoming.len().saturating_sub(optional);
        Self {
            required,
            optional,
            any_live: false,
            live: false,
            judged: false,
        }
    }

    /// `from` is done; `live` if it was completed and leads here. `None` means: wait, or judged before.
    ///
    /// This is the only rule of when a node may run: when all predecessors are done, where for
    /// `any_of` one that is completed is enough, and when at least one of them was completed. A node
    /// without a live predecessor will never run.
    pub(super) fn arrive(&mut self, node: &Node, from: NodeIx, live: bool) -> Option<Verdict> {
        if node.any_of.binary_search(&from).is_ok() {
            self.optional = self.optional.saturating_sub(1);
            self.any_live |= live;
        } else {
            self.required = self.required.saturating_sub(1);
        }
        self.live |= live;
        let done = self.required == 0 && (self.any_live || self.optional == 0);
        if !done || self.judged {
            return None;
        }
        self.judged = true;
        Some(if self.live {
            Verdict::Run
        } else {
            Verdict::Skip
        })
    }
}

/// A node or a child by its place, cheap to copy and to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    pub(super) node: NodeIx,
    pub(super) child: Option<u32>,
}

impl Slot {
    pub(super) fn node(node: NodeIx) -> Self {
        Self { node, child: None }
    }
}

impl Work {
    pub(super) fn new(status: NodeStatus) -> Self {
        Self {
            status,
            attempt: 1,
            epoch: 0,
            lost_runs: 0,
            run: None,
            due_ms: None,
            checkpoint: None,
            failure: None,
        }
    }
}

impl State {
    /// A job before its first event. The shell finds the graph by the hash in that event.
    #[must_use]
    pub fn new(graph: Arc<Graph>) -> Self {
        let nodes: Vec<NodeState> = graph
            .nodes
            .iter()
            .map(|node| NodeState {
                work: Work::new(NodeStatus::Pending),
                arrivals: Arrivals::new(node),
                output: None,
                external: None,
                branch: None,
                skipped: None,
            })
            .collect();
        let mut counts = [0; NodeStatus::ALL.len()];
        if let Some(pending) = counts.first_mut() {
            *pending = nodes.len();
        }
        Self {
            graph,
            created: None,
            status: JobStatus::Pending,
            claim: None,
            grace_until: DateTime::<Utc>::MIN_UTC,
            paused: false,
            nodes,
            groups: BTreeMap::new(),
            counts,
            frontier: Frontier::default(),
            lanes: Lanes::default(),
            timers: BTreeSet::new(),
            reuse: Reuse::default(),
            ignored: BTreeSet::new(),
            result: None,
            failure: None,
        }
    }

    pub(super) fn job_id(&self) -> JobId {
        self.created
            .as_ref()
            .map_or_else(|| JobId::new(uuid::Uuid::nil()), |c| c.job_id)
    }

    pub(super) fn slot(&self, id: &NodeId) -> Option<Slot> {
        let node = self.graph.find(&id.name)?;
        let slot = Slot {
            node,
            child: id.child,
        };
        self.work(slot).map(|_| slot)
    }

    pub(super) fn id(&self, slot: Slot) -> NodeId {
        let name = self
            .graph
            .node(slot.node)
            .map_or_else(|| "?".into(), |n| Arc::clone(&n.name));
        NodeId {
            name,
            child: slot.child,
        }
    }

    pub(super) fn work(&self, slot: Slot) -> Option<&Work> {
        match slot.child {
            None => self.nodes.get(slot.node).map(|n| &n.work),
            Some(index) => self.groups.get(&slot.node)?.child(index),
        }
    }

    pub(super) fn work_mut(&mut self, slot: Slot) -> Option<&mut Work> {
        match slot.child {
            None => self.nodes.get_mut(slot.node).map(|n| &mut n.work),
            Some(index) => self.groups.get_mut(&slot.node)?.child_mut(index),
        }
    }

    /// Whether nodes wait that are not terminal.
    pub(super) fn open_nodes(&self) -> usize {
        // A failed node either waits for its retry, or ended the job.
        let terminal = [NodeStatus::Completed, NodeStatus::Skipped];
        self.counts.iter().sum::<usize>() - terminal.iter().map(|s| self.count(*s)).sum::<usize>()
    }

    /// How many nodes and children have a status.
    #[must_use]
    pub fn count(&self, status: NodeStatus) -> usize {
        self.counts
            .get(status as usize)
            .copied()
            .unwrap_or_default()
    }
}
