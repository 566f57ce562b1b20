//! Which ready tasks are handed to queues now.

use serde_json::Value;

use super::command::{Context, Window};
use super::decide::{EVENT_BYTES_MAX, EVENTS_MAX, failed};
use super::event::{Event, NodeDispatched};
use super::group::RESULTS_BYTES_MAX;
use super::lanes::Lane;
use super::scope::{JobScope, collect};
use super::state::{Slot, State};
use super::status::JobStatus;
use super::time::after;
use crate::definition::graph::{FanInSpec, Kind, TaskSpec};
use crate::expr::Budget;
use crate::failure::{Failure, FailureClass};
use crate::json::{EVENT_DEPTH_MAX, clean, is_deeper_than, size_bytes};
use crate::priority::Priority;

/// Largest parameters of a task.
pub(super) const PARAMS_BYTES_MAX: usize = 256 * 1024;

pub(super) fn decide(state: &State, window: &Window, ctx: &Context) -> Vec<Event> {
    let mut events = Vec::new();
    if state.paused {
        return events;
    }
    let mut bytes = 0;
    for (key, slots) in &window.slots {
        let Some(lane) = state.lanes.get(key) else {
            continue;
        };
        for slot in picks(state, lane, *slots) {
            if events.len() + 4 > EVENTS_MAX || bytes > EVENT_BYTES_MAX / 2 {
                return events;
            }
            match dispatched(state, slot, key.1, ctx) {
                Ok(event) => {
                    bytes += size_bytes(&event.params);
                    events.push(Event::NodeDispatched(Box::new(event)));
                    if state.status == JobStatus::Pending && events.len() == 1 {
                        events.push(Event::JobStarted);
                    }
                }
                // Never sent half-filled: a template that fails, fails its task here.
                Err(failure) => {
                    let started = !events.is_empty() || state.status != JobStatus::Pending;
                    let mut more = failed(state, slot, None, failure, ctx);
                    if started {
                        more.retain(|e| *e != Event::JobStarted);
                    }
                    events.append(&mut more);
                    return events;
                }
            }
        }
    }
    events
}

/// The next tasks of a lane: single tasks first, then fan-outs in turns.
fn picks(state: &State, lane: &Lane, slots: u32) -> Vec<Slot> {
    let slots = slots as usize;
    let mut picks: Vec<Slot> = lane
        .tasks
        .iter()
        .take(slots)
        .map(|ix| Slot::node(*ix))
        .collect();
    let mut sources: Vec<_> = lane
        .groups
        .iter()
        .filter_map(|ix| {
            let group = state.groups.get(ix)?;
            let Kind::FanOut(spec) = &state.graph.node(*ix)?.kind else {
                return None;
            };
            let room = group.room(spec.max_parallel) as usize;
            let children = group.ready().take(room.min(slots));
            Some(children.map(|i| Slot {
                node: *ix,
                child: Some(i),
            }))
        })
        .collect();
    while picks.len() < slots && !sources.is_empty() {
        sources.retain_mut(|source| match source.next() {
            Some(slot) if picks.len() < slots => {
                picks.push(slot);
                true
            }
            _ => false,
        });
    }
    picks
}

fn dispatched(
    state: &State,
    slot: Slot,
    priority: Priority,
    ctx: &Context,
) -> Result<NodeDispatched, Failure> {
    let missing = || Failure::new(FailureClass::Contract, "no_task", "the node has no task");
    let task = state.graph.task(slot.node).ok_or_else(missing)?;
    let work = state.work(slot).ok_or_else(missing)?;
    if !task.is_known {
        let message = format!("no handler is called `{}` any more", task.handler);
        return Err(Failure::new(
            FailureClass::Contract,
            "unknown_handler",
            &message,
        ));
    }
    Ok(NodeDispatched {
        node: state.id(slot),
        attempt: work.attempt,
        epoch: work.epoch + 1,
        handler: task.handler.to_string(),
        queue: task.queue.to_string(),
        priority,
        params: params(state, slot, task)?,
        timeout_seconds: task.timeout_seconds,
        deadline_at: after(ctx.now, task.dispatch_timeout_seconds),
    })
}

/// The parameters of a task with all templates resolved.
fn params(state: &State, slot: Slot, task: &TaskSpec) -> Result<Value, Failure> {
    let mut scope = JobScope::of_node(state, slot.node);
    if let (Some(index), Some(group)) = (slot.child, state.groups.get(&slot.node)) {
        scope.index = index;
        scope.item = Some(group.item(index));
    }
    let rendered = task.params.render(&scope, &mut Budget::default());
    let mut params = rendered.map_err(|error| {
        let message = format!(
            "the parameters of `{}` cannot be made: {error}",
            state.id(slot)
        );
        Failure::new(FailureClass::Contract, "template_error", &message)
    })?;
    let node = state.graph.node(slot.node);
    if let (Some(Kind::FanIn(FanInSpec::Handler(_))), Some(map)) =
        (node.map(|n| &n.kind), params.as_object_mut())
    {
        let incoming = node.map_or(&[][..], |n| &n.incoming);
        map.insert(
            "previous_results".to_owned(),
            collect(state, incoming, RESULTS_BYTES_MAX).value(),
        );
    }
    if is_deeper_than(&params, EVENT_DEPTH_MAX) {
        let message = "the parameters are nested too deeply";
        return Err(Failure::new(FailureClass::Contract, "too_deep", message));
    }
    let bytes = size_bytes(&params);
    if bytes > PARAMS_BYTES_MAX {
        let message = format!("the parameters have {bytes} bytes, {PARAMS_BYTES_MAX} are allowed");
        return Err(Failure::new(
            FailureClass::Contract,
            "params_too_large",
            &message,
        ));
    }
    Ok(clean(params))
}
