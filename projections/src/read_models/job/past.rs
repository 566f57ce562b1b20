//! One job, folded alone and kept whole: its rows as they were at some position.
//!
//! The functions that fill the tables do the work, so that what is shown of the past is what was shown then. What the
//! tables get by statements over sets happens here when it is looked at: children that nothing has touched, children
//! that were taken over, and the end of the job. Large values are not kept: a row names the events that hold them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::id::NodeId;
use domain::job::event::{JobCreated, ReusedRange};
use domain::job::{Event, NodeStatus};
use serde_json::Value;

use super::apply;
use super::changes::{Changes, Ended, TakenOver};
use super::row::{Group, Job, Node, Patch, Place};
use super::{add_nodes, for_each_node, new_job};
use crate::Error;
use crate::read_models::graphs::Compiled;
use crate::store::log::Entry;

/// A job with all that was ever touched of it.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) job: Job,
    pub(crate) large: HashMap<NodeId, Large>,
    pub(crate) ended: Option<Ended>,
    /// How many events are in it.
    pub(crate) version: i64,
    changes: Changes,
}

/// The positions of the events that hold the large values of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Large {
    /// The output, and where it lies if it is too large to keep.
    pub(crate) output: Option<i64>,
    pub(crate) failure: Option<i64>,
    pub(crate) checkpoint: Option<i64>,
    /// The failure is the end of the job, and in no event of the node.
    pub(crate) ended: bool,
}

/// A row as it would be in the table.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) id: NodeId,
    pub(crate) node: Node,
    pub(crate) large: Large,
}

impl Whole {
    /// Takes the first event; without a graph the job has no nodes and is degraded, as in the tables.
    pub(crate) fn begin(
        entry: &Entry,
        created: &JobCreated,
        compiled: Option<&Compiled>,
    ) -> Result<Self, Error> {
        let place = Place {
            pos: entry.pos,
            at: entry.recorded_at,
        };
        let id = created.job_id.to_string();
        let mut job = new_job(&id, &entry.org_id, created, place)?;
        match compiled {
            Some(compiled) => add_nodes(&mut job, &compiled.graph, &compiled.stages, place),
            None => job.row.degraded = true,
        }
        Ok(Self::of(job, HashMap::new(), None, entry.version))
    }

    /// From its parts, as a snapshot has kept them.
    pub(crate) fn of(
        job: Job,
        large: HashMap<NodeId, Large>,
        ended: Option<Ended>,
        version: i64,
    ) -> Self {
        Self {
            job,
            large,
            ended,
            version,
            changes: Changes::default(),
        }
    }

    /// What the job took over from an older one; a snapshot does not keep it.
    pub(crate) fn take_over(&mut self, from: TakenOver) {
        let job_id = Arc::clone(&self.job.row.job_id);
        self.changes.taken_over.insert(job_id, from);
    }

    fn taken_over(&self) -> Option<&TakenOver> {
        self.changes.taken_over.get(&self.job.row.job_id)
    }

    /// Takes one more event.
    pub(crate) fn apply(&mut self, event: &Event, place: Place, version: i64) -> Result<(), Error> {
        self.version = version;
        if self.job.row.degraded {
            // Its rows were left as they are when it was parked.
            return Ok(());
        }
        if let Event::OutputsReused { nodes, children } = event {
            let (nodes, children) = (nodes.clone(), children.clone());
            self.take_over(TakenOver { nodes, children });
        }
        let is_over = self.job.row.status.is_terminal();
        apply::apply(&mut self.job, event, place, &mut self.changes)?;
        if !is_over {
            for_each_node(event, |id| self.note(id, place.pos));
            if let Event::ChildrenReused { node, ranges } = event {
                self.note_reused(node, ranges, place.pos);
            }
        }
        self.ended = self.changes.ended.pop().or_else(|| self.ended.take());
        self.changes.results.clear();
        self.changes.expansions.clear();
        self.changes.reuses.clear();
        Ok(())
    }

    /// The event at `pos` has set these large values; the values themselves are dropped.
    fn note(&mut self, id: &NodeId, pos: i64) {
        let Some(node) = self.job.nodes.get_mut(id) else {
            return;
        };
        let taken = |patch: &mut Patch| match std::mem::take(patch) {
            Patch::Keep => None,
            Patch::Set(value) => Some(value.map(|_| pos)),
        };
        let output = taken(&mut node.output);
        let failure = taken(&mut node.failure);
        let checkpoint = taken(&mut node.checkpoint);
        taken(&mut node.external);
        taken(&mut node.error_message);
        if output.is_none() && failure.is_none() && checkpoint.is_none() {
            return;
        }
        let large = self.large.entry(id.clone()).or_default();
        large.output = output.unwrap_or(large.output);
        large.failure = failure.unwrap_or(large.failure);
        large.checkpoint = checkpoint.unwrap_or(large.checkpoint);
    }

    /// Rows that something had touched before they were taken over: the others say it by their group.
    fn note_reused(&mut self, node: &NodeId, ranges: &[ReusedRange], pos: i64) {
        let has_outputs = self.taken_over().is_some_and(|taken| {
            let of_node = taken.children.iter().find(|c| c.node == *node);
            of_node.is_some_and(|children| children.outputs.is_some())
        });
        let indexes = ranges.iter().flat_map(|range| range.first..=range.last);
        for id in indexes.map(|index| NodeId::child(&node.name, index)) {
            if self.job.nodes.contains_key(&id) {
                let large = self.large.entry(id).or_default();
                large.output = has_outputs.then_some(pos);
            }
        }
    }

    /// The nodes of the workflow, in topological order.
    pub(crate) fn nodes(&self) -> Vec<Seen> {
        let own = self.job.nodes.iter().filter(|(id, _)| id.child.is_none());
        let mut rows: Vec<Seen> = own.map(|(id, node)| self.seen(id, node.clone())).collect();
        rows.sort_by_key(|row| row.node.ordinal);
        rows
    }

    /// The fan-outs that have children, in the order of their nodes.
    pub(crate) fn groups(&self) -> Vec<&Group> {
        let mut groups: Vec<&Group> = self.job.groups.iter().collect();
        groups.sort_by_key(|group| group.child.ordinal);
        groups
    }

    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.job.groups.iter().find(|group| &*group.name == name)
    }

    /// One node, or one child.
    pub(crate) fn find(&self, id: &NodeId) -> Option<Seen> {
        if let Some(node) = self.job.nodes.get(id) {
            return Some(self.seen(id, node.clone()));
        }
        let group = self.group(&id.name)?;
        let mut seen = self.seen(id, self.job.unwritten_child(id)?);
        seen.large.output = id.child.and_then(|index| self.reused_at(group, index));
        Some(seen)
    }

    /// How many children of a fan-out have each status.
    pub(crate) fn child_counts(&self, group: &Group) -> BTreeMap<NodeStatus, i64> {
        let mut counts: BTreeMap<NodeStatus, i64> = BTreeMap::new();
        let mut add = |status, n| *counts.entry(status).or_default() += n;
        let base = |index: u32| {
            let is_reused = group
                .reused
                .iter()
                .any(|(a, b, _)| (*a..=*b).contains(&index));
            self.at_end(if is_reused {
                NodeStatus::Completed
            } else {
                NodeStatus::Ready
            })
        };
        let reused = group.reused.iter().map(|(a, b, _)| i64::from(b - a) + 1);
        let reused: i64 = reused.sum();
        add(NodeStatus::Completed, reused);
        add(
            self.at_end(NodeStatus::Ready),
            i64::from(group.count) - reused,
        );
        let touched = self
            .job
            .nodes
            .iter()
            .filter(|(id, _)| id.name == group.name);
        for (id, node) in touched {
            if let Some(index) = id.child {
                add(base(index), -1);
                add(self.at_end(node.status), 1);
            }
        }
        counts.retain(|_, count| *count != 0);
        counts
    }

    /// What became of a row with this status when the job ended, if it did.
    pub(crate) fn at_end(&self, status: NodeStatus) -> NodeStatus {
        match (&self.ended, status) {
            (Some(_), NodeStatus::Pending | NodeStatus::Ready) => NodeStatus::Skipped,
            (Some(_), NodeStatus::Dispatched | NodeStatus::Running) => NodeStatus::Failed,
            _ => status,
        }
    }

    fn seen(&self, id: &NodeId, mut node: Node) -> Seen {
        let mut large = self.large.get(id).copied().unwrap_or_default();
        let status = self.at_end(node.status);
        if let (Some(ended), true) = (&self.ended, status != node.status) {
            if status == NodeStatus::Skipped {
                node.skip_reason = Some("job_ended");
            } else {
                large.failure = None;
                large.ended = true;
            }
            node.status = status;
            node.completed_at = Some(ended.place.at);
            node.updated_at = ended.place.at;
            node.last_pos = ended.place.pos;
        }
        let id = id.clone();
        Seen { id, node, large }
    }

    /// The event that took over the output of a child that nothing has touched since.
    fn reused_at(&self, group: &Group, index: u32) -> Option<i64> {
        let reused = group.reused.iter();
        let mut around = reused.filter(|(a, b, _)| (*a..=*b).contains(&index));
        let pos = around.next().map(|(_, _, place)| place.pos)?;
        self.reused_output(&NodeId::child(&group.name, index))
            .map(|_| pos)
    }

    /// The output that a child has from an older job.
    pub(crate) fn reused_output(&self, id: &NodeId) -> Option<&Value> {
        let index = id.child?;
        let taken = self.taken_over()?;
        let children = taken.children.iter().find(|c| c.node.name == id.name)?;
        let outputs = children.outputs.as_ref()?;
        let mut before = 0;
        for (first, last, _) in &self.group(&id.name)?.reused {
            if (*first..=*last).contains(&index) {
                return outputs.get(before + (index - first) as usize);
            }
            before += (last - first) as usize + 1;
        }
        None
    }

    /// What a node has from an older job.
    pub(crate) fn reused_node(&self, id: &NodeId) -> Option<&domain::job::event::ReusedNode> {
        let taken = self.taken_over()?;
        taken.nodes.iter().find(|reused| reused.node == *id)
    }
}
