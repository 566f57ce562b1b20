//! How events change a job. Total: history cannot be refused, so nothing here fails or panics.
//!
//! An event about a node that is not in the graph, or one after the end of the job, changes nothing.

use super::command::Fence;
use super::event::Event;
use super::state::State;
use super::status::{JobStatus, NodeStatus};

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
        _ => apply_to_tasks(state, event),
    }
}

/// Events about what workers do.
fn apply_to_tasks(state: &mut State, event: &Event) {
    match event {
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
        Event::RunLost { node, .. } => state.with(node, |s, slot| s.end_run(slot, 1)),
        Event::RunReleased { node, .. } => state.with(node, |s, slot| s.end_run(slot, 0)),
        _ => {}
    }
}
