//! How events change a job. Total: history cannot be refused, so nothing here fails or panics.
//!
//! An event about a node that is not in the graph, or one after the end of the job, changes nothing.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::command::Fence;
use super::event::{Event, Items, JobCreated, NodeCompleted, NodeDispatched, NodeFailed};
use super::group::Group;
use super::lanes::LaneKey;
use super::state::{Slot, State, Verdict};
use super::status::{JobStatus, NodeStatus};
use crate::definition::NodeIx;
use crate::definition::graph::Kind;
use crate::failure::{Failure, FailureClass};
use crate::id::NodeId;

/// The job after one more event.
#[must_use]
pub fn evolve(mut state: State, event: &Event) -> State {
    apply(&mut state, event);
    state
}

/// [`evolve`] in place: a job of 100,000 nodes must not be moved for each event.
pub fn apply(state: &mut State, event: &Event) {
    if state.status.is_terminal() {
        if let Event::ReportIgnored { .. } = event {
            state.ignore(event);
        }
        return;
    }
    match event {
        Event::JobCreated(created) => state.create(created),
        Event::OutputsReused { nodes, children } => {
            for node in nodes {
                if let Some(ix) = state.graph.find(&node.node.name) {
                    state.reuse.nodes.insert(ix, node.clone());
                }
            }
            for group in children {
                if let Some(ix) = state.graph.find(&group.node.name) {
                    state.reuse.children.insert(ix, group.clone());
                }
            }
        }
        Event::JobClaimed {
            owner,
            epoch,
            grace_until,
        } => {
            state.claim = Some(Fence {
                owner: *owner,
                epoch: *epoch,
            });
            state.grace_until = *grace_until;
        }
        Event::JobStarted => state.become_status(JobStatus::Running),
        Event::JobPaused { .. } => state.paused = true,
        Event::JobResumed => state.paused = false,
        Event::JobCompleted { result } => {
            state.result = Some(result.clone());
            state.end(JobStatus::Completed, "");
        }
        Event::JobFailed { node, failure } => {
            state.failure = Some((node.clone(), failure.clone()));
            state.end(JobStatus::Failed, "the job failed");
        }
        Event::JobCancelled { reason } => state.end(JobStatus::Cancelled, reason),
        Event::ReportIgnored { .. } => state.ignore(event),
        _ => apply_to_nodes(state, event),
    }
}

/// Events about nodes of a job that goes on.
fn apply_to_nodes(state: &mut State, event: &Event) {
    match event {
        Event::NodesReady { nodes } => nodes.iter().for_each(|id| state.ready(id)),
        Event::NodesSkipped {
            nodes,
            reason,
            because,
        } => {
            for id in nodes {
                state.with(id, |state, slot| {
                    state.set_status(slot, NodeStatus::Skipped);
                    if let Some(node) = state.nodes.get_mut(slot.node) {
                        node.skipped = Some((*reason, because.clone()));
                    }
                    state.depart(slot.node, |_| false);
                });
            }
        }
        Event::NodePassed { node, output } => state.with(node, |state, slot| {
            state.complete_node(slot.node, output.clone());
            state.depart(slot.node, |_| true);
        }),
        Event::BranchTaken { node, branch } => {
            state.with(node, |s, slot| s.branch(slot.node, *branch))
        }
        Event::FanOutExpanded { node, items } => {
            state.with(node, |state, slot| state.expand(slot.node, items));
        }
        Event::ChildrenReused { node, ranges } => {
            state.with(node, |state, slot| state.reuse_children(slot.node, ranges));
        }
        Event::NodeReused { node } => state.with(node, |state, slot| {
            let reused = state.reuse.nodes.remove(&slot.node);
            if let (Some(node), Some(reused)) = (state.nodes.get_mut(slot.node), &reused) {
                node.external.clone_from(&reused.external);
            }
            state.complete_node(slot.node, reused.map(|r| r.output));
            state.depart(slot.node, |_| true);
        }),
        Event::NodeDispatched(event) => state.with(&event.node, |s, slot| s.dispatch(slot, event)),
        Event::NodeRedispatched {
            node,
            epoch,
            deadline_at,
            ..
        } => {
            state.with(node, |state, slot| {
                if let Some(work) = state.work_mut(slot) {
                    work.epoch = *epoch;
                }
                state.set_timer(slot, Some(*deadline_at));
            });
        }
        Event::NodeStarted {
            node,
            run,
            deadline_at,
            ..
        } => state.with(node, |state, slot| {
            state.set_status(slot, NodeStatus::Running);
            if let Some(work) = state.work_mut(slot) {
                work.run = Some(*run);
            }
            state.set_timer(slot, Some(*deadline_at));
        }),
        Event::CheckpointSaved {
            node, checkpoint, ..
        } => state.with(node, |state, slot| {
            if let Some(work) = state.work_mut(slot) {
                work.checkpoint = Some(Box::new(checkpoint.clone()));
            }
        }),
        Event::NodeCompleted(event) => state.with(&event.node, |s, slot| s.complete(slot, event)),
        Event::NodeFailed(event) => state.with(&event.node, |s, slot| s.fail(slot, event)),
        Event::RunLost { node, .. } => state.with(node, |state, slot| {
            state.set_status(slot, NodeStatus::Ready);
            state.set_timer(slot, None);
            if let Some(work) = state.work_mut(slot) {
                work.run = None;
                work.lost_runs += 1;
            }
            state.offer(slot);
        }),
        _ => {}
    }
}

impl State {
    fn with(&mut self, id: &NodeId, change: impl FnOnce(&mut Self, Slot)) {
        if let Some(slot) = self.slot(id) {
            change(self, slot);
        }
    }

    fn create(&mut self, created: &JobCreated) {
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
    fn become_status(&mut self, status: JobStatus) {
        if self.status.may_become(status) {
            self.status = status;
        }
    }

    /// The job is over: what waited is skipped, what was at work is failed as cancelled.
    fn end(&mut self, status: JobStatus, reason: &str) {
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
        self.frontier = super::state::Frontier::default();
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
    fn depart(&mut self, from: NodeIx, live: impl Fn(NodeIx) -> bool) {
        let graph = std::sync::Arc::clone(&self.graph);
        let Some(node) = graph.node(from) else { return };
        for &to in &node.outgoing {
            let (Some(next), Some(state)) = (graph.node(to), self.nodes.get_mut(to)) else {
                continue;
            };
            match state.arrivals.arrive(next.join, live(to)) {
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

    fn ready(&mut self, id: &NodeId) {
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

    /// Puts ready work where `dispatch` finds it.
    fn offer(&mut self, slot: Slot) {
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
        Some((
            std::sync::Arc::clone(&task.queue),
            task.priority.unwrap_or(job),
        ))
    }

    fn complete_node(&mut self, ix: NodeIx, output: Option<Value>) {
        self.set_status(Slot::node(ix), NodeStatus::Completed);
        self.set_timer(Slot::node(ix), None);
        if let Some(node) = self.nodes.get_mut(ix) {
            node.output = output;
        }
    }

    fn branch(&mut self, ix: NodeIx, branch: u32) {
        let graph = std::sync::Arc::clone(&self.graph);
        let Some(Kind::Conditional(spec)) = graph.node(ix).map(|n| &n.kind) else {
            return;
        };
        let taken = spec
            .branches
            .get(branch as usize)
            .map_or(&[][..], |b| &b.next);
        self.complete_node(ix, Some(serde_json::json!({ "branch": branch })));
        if let Some(node) = self.nodes.get_mut(ix) {
            node.branch = Some(branch);
        }
        self.depart(ix, |to| taken.contains(&to));
    }

    fn expand(&mut self, ix: NodeIx, items: &Items) {
        let graph = std::sync::Arc::clone(&self.graph);
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

    fn refresh_lane(&mut self, ix: NodeIx) {
        if let (Some(key), Some(group)) = (self.lane(ix), self.groups.get(&ix)) {
            self.lanes.set_group(&key, ix, group.has_ready());
        }
    }

    fn reuse_children(&mut self, ix: NodeIx, ranges: &[(u32, u32)]) {
        let reused = self.reuse.children.remove(&ix);
        let mut outputs = reused
            .as_ref()
            .and_then(|r| r.outputs.as_ref())
            .map(|o| o.iter());
        for index in ranges.iter().flat_map(|(from, to)| *from..=*to) {
            self.set_status(
                Slot {
                    node: ix,
                    child: Some(index),
                },
                NodeStatus::Completed,
            );
            let output = outputs.as_mut().and_then(Iterator::next);
            self.take_result(ix, index, output);
        }
        if let Some(group) = self.groups.get_mut(&ix) {
            group.skip_done();
        }
        self.refresh_lane(ix);
    }

    fn dispatch(&mut self, slot: Slot, event: &NodeDispatched) {
        self.set_status(slot, NodeStatus::Dispatched);
        if let Some(work) = self.work_mut(slot) {
            work.attempt = event.attempt;
            work.epoch = event.epoch;
        }
        self.set_timer(slot, Some(event.deadline_at));
        self.withdraw(slot);
    }

    /// Takes work out of its lane.
    fn withdraw(&mut self, slot: Slot) {
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

    fn complete(&mut self, slot: Slot, event: &NodeCompleted) {
        match slot.child {
            None => {
                if let Some(node) = self.nodes.get_mut(slot.node) {
                    node.external.clone_from(&event.external);
                    node.work.run = Some(event.run);
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
                }
                self.take_result(slot.node, index, Some(&event.output));
            }
        }
    }

    fn take_result(&mut self, ix: NodeIx, index: u32, output: Option<&Value>) {
        let keeps_handoff = matches!(
            self.graph.node(ix).map(|n| &n.kind),
            Some(Kind::FanOut(spec)) if spec.keeps_handoff
        );
        let Some(group) = self.groups.get_mut(&ix) else {
            return;
        };
        group.results.add(index, output);
        if keeps_handoff && let Some(handoff) = output.and_then(|o| o.get("next_stage_params")) {
            group.handoffs.insert(index, handoff.clone());
        }
        if group.remaining == 0 {
            self.frontier.engine.insert(ix);
        }
    }

    fn fail(&mut self, slot: Slot, event: &NodeFailed) {
        self.withdraw(slot);
        self.set_status(slot, NodeStatus::Failed);
        if let Some(work) = self.work_mut(slot) {
            work.failure = Some(Box::new(event.failure.clone()));
            work.run = event.run;
        }
        self.set_timer(slot, event.retry_at);
    }

    fn ignore(&mut self, event: &Event) {
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
