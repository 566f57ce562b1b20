//! What one batch changes besides the rows in memory: results, and what concerns many rows at once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use domain::id::NodeId;
use domain::job::event::{ReusedChildren, ReusedNode, ReusedRange};
use domain::job::{Event, NodeStatus};
use uuid::Uuid;

use super::apply::{apply, stamp, text};
use super::row::{Group, Job, Node, Place, slot};
use crate::Error;
use crate::store::history::HistoryRow;

/// A row of `dag_task_results`.
#[derive(Debug, Clone)]
pub(crate) struct ResultRow {
    pub(crate) task_id: String,
    pub(crate) job_id: String,
    pub(crate) node_id: String,
    pub(crate) attempt: i32,
    pub(crate) status: NodeStatus,
    pub(crate) output: Option<String>,
    pub(crate) error_message: Option<String>,
    pub(crate) failure: Option<String>,
    pub(crate) worker: Option<String>,
    pub(crate) run: Option<Uuid>,
    pub(crate) metrics: Option<String>,
    pub(crate) place: Place,
}

impl ResultRow {
    pub(super) fn of(job_id: &str, node: &NodeId, attempt: u32, place: Place) -> Self {
        Self {
            task_id: format!("{job_id}_{node}_{attempt}"),
            job_id: job_id.to_owned(),
            node_id: node.to_string(),
            attempt: i32::try_from(attempt).unwrap_or(i32::MAX),
            status: NodeStatus::Failed,
            output: None,
            error_message: None,
            failure: None,
            worker: None,
            run: None,
            metrics: None,
            place,
        }
    }
}

/// A job that ended with nodes open.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) job_id: String,
    pub(crate) reason: String,
    pub(crate) place: Place,
}

/// Children to be made: `count` rows by one statement.
#[derive(Debug)]
pub(crate) struct Expansion {
    pub(crate) job_id: String,
    pub(crate) name: Arc<str>,
    pub(crate) count: u32,
    pub(crate) child: Node,
}

/// Children that an older job has done.
#[derive(Debug)]
pub(crate) struct Reuse {
    pub(crate) job_id: String,
    pub(crate) ordinal: i32,
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// Their outputs in order, as a JSON array.
    pub(crate) outputs: Option<String>,
    pub(crate) place: Place,
}

/// What a job took over from an older one.
#[derive(Debug, Default)]
pub(crate) struct TakenOver {
    pub(crate) nodes: Vec<ReusedNode>,
    pub(crate) children: Vec<ReusedChildren>,
}

/// Everything of one batch that is not a single row in memory.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) results: Vec<ResultRow>,
    pub(crate) expansions: Vec<Expansion>,
    pub(crate) reuses: Vec<Reuse>,
    pub(crate) ended: Vec<Ended>,
    /// What lists of jobs show from now on.
    pub(crate) history: Vec<HistoryRow>,
    /// By job; read from the log for the jobs that need it.
    pub(crate) taken_over: HashMap<Arc<str>, TakenOver>,
}

impl Changes {
    pub(super) fn reused_node(&self, job: &Arc<str>, node: &NodeId) -> Option<ReusedNode> {
        let reused = self.taken_over.get(job)?;
        reused.nodes.iter().find(|r| r.node == *node).cloned()
    }

    pub(super) fn reuse_children(
        &mut self,
        job: &mut Job,
        node: &NodeId,
        ranges: &[ReusedRange],
        place: Place,
    ) -> Result<(), Error> {
        let Some(ordinal) = job.find(node).map(|row| row.ordinal) else {
            return Ok(());
        };
        let taken_over = self.taken_over.get(&job.row.job_id);
        let children = taken_over.and_then(|t| t.children.iter().find(|c| c.node == *node));
        let Some(children) = children else {
            return Ok(());
        };
        let mut outputs = children.outputs.as_deref();
        for range in ranges {
            let len = (range.last + 1).saturating_sub(range.first) as usize;
            let these = outputs.map(|all| all.split_at(len.min(all.len())));
            outputs = these.map(|(_, rest)| rest);
            self.reuses.push(Reuse {
                job_id: job.row.job_id.to_string(),
                ordinal,
                first: range.first,
                last: range.last,
                outputs: these.map(|(these, _)| text(these)).transpose()?,
                place,
            });
            job.reuse_range(&node.name, range.first, range.last, place);
        }
        Ok(())
    }
}

impl Changes {
    /// Takes an event in, and notes what lists of jobs show from now on.
    pub(super) fn apply(
        &mut self,
        job: &mut Job,
        event: &Event,
        place: Place,
    ) -> Result<(), Error> {
        let before = (job.row.status, job.row.paused);
        apply(job, event, place, self)?;
        if before != (job.row.status, job.row.paused) {
            self.history.push(HistoryRow::of(&job.row, place, false));
        }
        Ok(())
    }
}

impl Job {
    pub(super) fn find(&mut self, id: &NodeId) -> Option<&mut Node> {
        match self.nodes.entry(id.clone()) {
            Entry::Occupied(row) => Some(row.into_mut()),
            Entry::Vacant(place) => {
                let group = self.groups.iter().find(|g| g.name == id.name)?;
                Some(place.insert(group.unwritten(id.child?)?))
            }
        }
    }

    pub(super) fn with(&mut self, id: &NodeId, place: Place, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.find(id) {
            node.dirty = true;
            node.updated_at = place.at;
            node.last_pos = place.pos;
            change(node);
        }
    }

    /// Moves a node along a legal way, as the domain does.
    pub(super) fn set_status(&mut self, id: &NodeId, status: NodeStatus, place: Place) {
        let Some(node) = self.find(id) else { return };
        let before = node.status;
        if before == status || !(before.may_become(status) || before.path_to(status).is_some()) {
            return;
        }
        node.status = status;
        node.dirty = true;
        node.updated_at = place.at;
        node.last_pos = place.pos;
        stamp(node, status, place.at);
        self.row.counts[slot(before)] -= 1;
        self.row.counts[slot(status)] += 1;
    }

    pub(super) fn expand(&mut self, id: &NodeId, count: u32, place: Place, changes: &mut Changes) {
        let Some(parent) = self.find(id) else { return };
        let expanded = matches!(parent.status, NodeStatus::Running | NodeStatus::Completed);
        if parent.kind != "fan_out" || expanded {
            return;
        }
        let child = Node {
            ordinal: parent.ordinal,
            stage: parent.stage,
            handler: parent.handler.clone(),
            queue: parent.queue.clone(),
            ready_at: Some(place.at),
            ..Node::new(NodeStatus::Ready, place)
        };
        self.set_status(id, NodeStatus::Running, place);
        self.row.counts[slot(NodeStatus::Ready)] += i32::try_from(count).unwrap_or(i32::MAX);
        changes.expansions.push(Expansion {
            job_id: self.row.job_id.to_string(),
            name: Arc::clone(&id.name),
            count,
            child: child.clone(),
        });
        self.groups.push(Group {
            name: Arc::clone(&id.name),
            count,
            child,
            reused: Vec::new(),
        });
    }

    /// Rows that are not in memory are changed by a statement; those that are, here.
    fn reuse_range(&mut self, name: &Arc<str>, first: u32, last: u32, place: Place) {
        let in_range =
            |id: &NodeId| id.name == *name && id.child.is_some_and(|i| (first..=last).contains(&i));
        let here: Vec<NodeId> = self
            .nodes
            .keys()
            .filter(|id| in_range(id))
            .cloned()
            .collect();
        let all = (last + 1).saturating_sub(first);
        let elsewhere =
            i32::try_from(all).unwrap_or(i32::MAX) - i32::try_from(here.len()).unwrap_or(i32::MAX);
        for id in here {
            self.set_status(&id, NodeStatus::Completed, place);
        }
        self.row.counts[slot(NodeStatus::Ready)] -= elsewhere;
        self.row.counts[slot(NodeStatus::Completed)] += elsewhere;
        if let Some(group) = self.groups.iter_mut().find(|g| g.name == *name) {
            group.reused.push((first, last, place));
        }
    }

    /// A child of a fan-out that was expanded in this batch.
    pub(super) fn unwritten_child(&self, id: &NodeId) -> Option<Node> {
        let group = self.groups.iter().find(|g| g.name == id.name)?;
        group.unwritten(id.child?)
    }
}

impl Group {
    fn unwritten(&self, index: u32) -> Option<Node> {
        if index >= self.count {
            return None;
        }
        let mut child = self.child.clone();
        let by = self
            .reused
            .iter()
            .find(|(a, b, _)| (*a..=*b).contains(&index));
        if let Some((_, _, place)) = by {
            child.status = NodeStatus::Completed;
            child.updated_at = place.at;
            child.last_pos = place.pos;
            stamp(&mut child, NodeStatus::Completed, place.at);
        }
        Some(child)
    }
}
