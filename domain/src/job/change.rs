//! The changes that events are made of, each of which keeps all counts and indexes in step.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::event::{
    Event, Items, JobCreated, NodeCompleted, NodeDispatched, NodeFailed, ReusedRange,
};
use super::group::Group;
use super::lanes::LaneKey;
use super::state::{Frontier, Slot, State, Verdict};
use super::status::{JobStatus, NodeStatus};
use crate::definition::NodeIx;
use crate::definition::graph::Kind;
use crate::failure::{Failure, FailureClass};
use crate::id::NodeId;

impl State {
    pub(super) fn with(&mut self, id: &NodeId, change: impl FnOnce(&mut Self, Slot)) {
        if let Some(slot) = self.slot(id) {
            change(self, slot);
        }
    }

    pub(super) fn create(&mut self, created: &JobCreated) {
        if self.created.is_some() {
            return;
        }
        self.created = Some(Box::new(created.clone()));
        let starts = self
            .graph
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, n)| n.incoming.is_empty());
        self.frontier.engine.extend(starts.map(|(ix, _)| ix));
    }

    /// A job goes only legal ways; an event that asks for another changes nothing.
    pub(super) fn become_status(&mut self, status: JobStatus) {
        if self.status.may_become(status) {
            self.status = status;
        }
    }

    /// The job is over: what waited is skipped, what was at work is failed as cancelled.
    pub(super) fn end(&mut self, status: JobStatus, reason: &str) {
        self.become_status(status);
        if !self.status.is_terminal() {
            return;
        }
        let cancelled = Failure::new(FailureClass::Cancelled, "job_ended", reason);
        let works = self.nodes.iter_mut().map(|n| &mut n.work);
        for work in works.chain(self.groups.values_mut().flat_map(Group::children_mut)) {
            match work.status {
                NodeStatus::Pending | NodeStatus::Ready => work.status = NodeStatus::Skipped,
                NodeStatus::Dispatched | NodeStatus::Running => {
                    work.status = NodeStatus::Failed;
                    work.failure = Some(Box::new(cancelled.clone()));
                }
                NodeStatus::Completed | NodeStatus::Failed | NodeStatus::Skipped => {}
            }
            work.due_ms = None;
        }
        let waiting = self.count(NodeStatus::Pending) + self.count(NodeStatus::Ready);
        let at_work = self.count(NodeStatus::Dispatched) + self.count(NodeStatus::Running);
        for (status, change) in [
            (NodeStatus::Skipped, waiting),
            (NodeStatus::Failed, at_work),
        ] {
            if let Some(count) = self.counts.get_mut(status as usize) {
                *count += change;
            }
        }
        for status in [
            NodeStatus::Pending,
            NodeStatus::Ready,
            NodeStatus::Dispatched,
            NodeStatus::Running,
        ] {
            if let Some(count) = self.counts.get_mut(status as usize) {
                *count = 0;
            }
        }
        self.groups.values_mut().for_each(Group::stop_dispatch);
        self.timers.clear();
        self.lanes.clear();
        self.frontier = Frontier::default();
    }

    /// Moves a node along a legal way; one event may stand for several steps.
    pub(super) fn set_status(&mut self, slot: Slot, status: NodeStatus) {
        let Some(work) = self.work_mut(slot) else {
            return;
        };
        let before = work.status;
        if before == status || !(before.may_become(status) || before.path_to(status).is_some()) {
            return;
        }
        work.status = status;
        for (which, add) in [(before, false), (status, true)] {
            if let Some(count) = self.counts.get_mut(which as usize) {
                *count = if add {
                    *count + 1
                } else {
                    count.saturating_sub(1)
                };
            }
        }
        if slot.child.is_some()
            && let Some(group) = self.groups.get_mut(&slot.node)
        {
            let in_flight = |s| matches!(s, NodeStatus::Dispatched | NodeStatus::Running);
            group.in_flight += u32::from(in_flight(status));
            group.in_flight -= u32::from(in_flight(before) && group.in_flight > 0);
            group.remaining -= u32::from(status == NodeStatus::Completed && group.remaining > 0);
        } else {
            self.frontier.ready.remove(&slot.node);
            self.frontier.engine.remove(&slot.node);
            self.frontier.dead.remove(&slot.node);
        }
    }

    pub(super) fn set_timer(&mut self, slot: Slot, due: Option<DateTime<Utc>>) {
        let due_ms = due.map(|at| at.timestamp_millis());
        let Some(work) = self.work_mut(slot) else {
            return;
        };
        let before = std::mem::replace(&mut work.due_ms, due_ms);
        if let Some(before) = before {
            self.timers.remove(&(before, slot));
        }
        if let Some(due_ms) = due_ms {
            self.timers.insert((due_ms, slot));
        }
    }

    /// Tells the successors of a node that it is done; `live` says which of them it leads to.
    pub(super) fn depart(&mut self, from: NodeIx, live: impl Fn(NodeIx) -> bool) {
        let graph = Arc::clone(&self.graph);
        let Some(node) = graph.node(from) else { return };
        for &to in &node.outgoing {
            let (Some(next), Some(state)) = (graph.node(to), self.nodes.get_mut(to)) else {
                continue;
            };
            match state.arrivals.arrive(next, from, live(to)) {
                None => {}
                Some(Verdict::Skip) => {
                    self.frontier.dead.insert(to);
                }
                Some(Verdict::Run) => {
                    let reused = self.reuse.nodes.contains_key(&to);
                    if next.kind.is_task() && next.when.is_none() && !reused {
                        self.frontier.ready.insert(to);
                    } else {
                        self.frontier.engine.insert(to);
                    }
                }
            }
        }
    }

    pub(super) fn ready(&mut self, id: &NodeId) {
        let Some(slot) = self.slot(id) else { return };
        let is_retry = self
            .work(slot)
            .is_some_and(|w| w.status == NodeStatus::Failed);
        self.set_status(slot, NodeStatus::Ready);
        self.set_timer(slot, None);
        if let Some(work) = self.work_mut(slot)
            && is_retry
        {
            work.attempt += 1;
            work.epoch = 0;
            work.lost_runs = 0;
            work.run = None;
        }
        self.offer(slot);
    }

    /// A run ended without a result, and the attempt goes on; `lost` counts it.
    pub(super) fn end_run(&mut self, slot: Slot, lost: u32) {
        self.set_status(slot, NodeStatus::Ready);
        self.set_timer(slot, None);
        if let Some(work) = self.work_mut(slot) {
            work.run = None;
            work.lost_runs += lost;
        }
        self.offer(slot);
    }

    /// Puts ready work where `dispatch` finds it.
    pub(super) fn offer(&mut self, slot: Slot) {
        let Some(key) = self.lane(slot.node) else {
            return;
        };
        match slot.child {
            None => self.lanes.insert(key, slot.node),
            Some(index) => {
                if let Some(group) = self.groups.get_mut(&slot.node) {
                    group.queue_again(index);
                }
                self.lanes.set_group(&key, slot.node, true);
            }
        }
    }

    pub(super) fn lane(&self, node: NodeIx) -> Option<LaneKey> {
        let task = self.graph.task(node)?;
        let job = self
            .created
            .as_ref()
            .map_or(self.graph.priority, |c| c.priority);
        Some((Arc::clone(&task.queue), task.priority.unwrap_or(job)))
    }

    pub(super) fn complete_node(&mut self, ix: NodeIx, output: Option<Value>) {
        self.set_status(Slot::node(ix), NodeStatus::Completed);
        self.set_timer(Slot::node(ix), None);
        if let Some(node) = self.nodes.get_mut(ix) {
            node.output = output;
        }
    }

    pub(super) fn branch(&mut self, ix: NodeIx, branch: u32) {
        let graph = Arc::clone(&self.graph);
        let Some(Kind::Conditional(spec)) = graph.node(ix).map(|n| &n.kind) else {
            return;
        };
        let taken = spec
            .branches
            .get(branch as usize)
            .map_or(&[][..], |b| &b.next);
        let in_a_branch = |to: &NodeIx| spec.branches.iter().any(|b| b.next.contains(to));
        self.complete_node(ix, Some(serde_json::json!({ "branch": branch })));
        if let Some(node) = self.nodes.get_mut(ix) {
            node.branch = Some(branch);
        }
        // What only waits for the conditional hangs on no branch.
        self.depart(ix, |to| taken.contains(&to) || !in_a_branch(&to));
    }

    pub(super) fn expand(&mut self, ix: NodeIx, items: &Items) {
        let graph = Arc::clone(&self.graph);
        let Some(Kind::FanOut(spec)) = graph.node(ix).map(|n| &n.kind) else {
            return;
        };
        if self.groups.contains_key(&ix) {
            return;
        }
        self.set_status(Slot::node(ix), NodeStatus::Running);
        let group = Group::new(items.clone(), spec);
        if let Some(ready) = self.counts.get_mut(NodeStatus::Ready as usize) {
            *ready += group.count() as usize;
        }
        if group.remaining == 0 {
            self.frontier.engine.insert(ix);
        }
        self.groups.insert(ix, group);
        self.refresh_lane(ix);
    }

    pub(super) fn refresh_lane(&mut self, ix: NodeIx) {
        if let (Some(key), Some(group)) = (self.lane(ix), self.groups.get(&ix)) {
            self.lanes.set_group(&key, ix, group.has_ready());
        }
    }

    pub(super) fn reuse_children(&mut self, ix: NodeIx, ranges: &[ReusedRange]) {
        let Some(reused) = self.reuse.children.remove(&ix) else {
            return;
        };
        let mut outputs = reused.outputs.iter().flatten();
        for index in ranges.iter().flat_map(|range| range.first..=range.last) {
            self.set_status(
                Slot {
                    node: ix,
                    child: Some(index),
                },
                NodeStatus::Completed,
            );
            if let Some(output) = outputs.next() {
                self.take_result(ix, index, output);
            }
        }
        if let Some(group) = self.groups.get_mut(&ix) {
            if reused.outputs.is_none() {
                group.results.take_over(&reused);
                group.handoffs.extend(reused.handoffs);
            }
            group.reused.extend_from_slice(ranges);
            group.skip_done();
            if group.remaining == 0 {
                self.frontier.engine.insert(ix);
            }
        }
        self.refresh_lane(ix);
    }

    pub(super) fn dispatch(&mut self, slot: Slot, event: &NodeDispatched) {
        self.set_status(slot, NodeStatus::Dispatched);
        if let Some(work) = self.work_mut(slot) {
            work.attempt = event.attempt;
            work.epoch = event.epoch;
        }
        self.set_timer(slot, Some(event.deadline_at));
        self.withdraw(slot);
    }

    /// Takes work out of its lane.
    pub(super) fn withdraw(&mut self, slot: Slot) {
        match slot.child {
            None => {
                if let Some(key) = self.lane(slot.node) {
                    self.lanes.remove(&key, slot.node);
                }
            }
            Some(index) => {
                if let Some(group) = self.groups.get_mut(&slot.node) {
                    group.took(index);
                }
                self.refresh_lane(slot.node);
            }
        }
    }

    pub(super) fn complete(&mut self, slot: Slot, event: &NodeCompleted) {
        match slot.child {
            None => {
                if let Some(node) = self.nodes.get_mut(slot.node) {
                    node.external.clone_from(&event.external);
                    node.work.run = Some(event.run);
                    node.work.failure = None;
                }
                self.complete_node(slot.node, Some(event.output.clone()));
                self.depart(slot.node, |_| true);
            }
            Some(index) => {
                self.set_status(slot, NodeStatus::Completed);
                self.set_timer(slot, None);
                if let Some(work) = self.work_mut(slot) {
                    work.run = Some(event.run);
                    work.checkpoint = None;
                    work.failure = None;
                }
                self.take_result(slot.node, index, &event.output);
            }
        }
    }

    pub(super) fn take_result(&mut self, ix: NodeIx, index: u32, output: &Value) {
        let keeps_handoff = matches!(
            self.graph.node(ix).map(|n| &n.kind),
            Some(Kind::FanOut(spec)) if spec.keeps_handoff
        );
        let Some(group) = self.groups.get_mut(&ix) else {
            return;
        };
        group.results.add(index, output);
        if keeps_handoff && let Some(handoff) = output.get("next_stage_params") {
            group.handoffs.insert(index, handoff.clone());
        }
        if group.remaining == 0 {
            self.frontier.engine.insert(ix);
        }
    }

    pub(super) fn fail(&mut self, slot: Slot, event: &NodeFailed) {
        // Only what could not be sent still stands in its lane.
        if self
            .work(slot)
            .is_some_and(|w| w.status == NodeStatus::Ready)
        {
            self.withdraw(slot);
        }
        self.set_status(slot, NodeStatus::Failed);
        if let Some(work) = self.work_mut(slot) {
            work.failure = Some(Box::new(event.failure.clone()));
            work.run = event.run;
        }
        self.set_timer(slot, event.retry_at);
    }

    pub(super) fn ignore(&mut self, event: &Event) {
        if let Event::ReportIgnored {
            node,
            attempt,
            epoch,
            run,
            report,
            ..
        } = event
            && let Some(slot) = self.slot(node)
        {
            self.ignored
                .insert((slot, *attempt, *epoch, *run, report.clone()));
        }
    }
}
