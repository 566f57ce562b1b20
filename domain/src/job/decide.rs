//! Which events follow from a command.

use super::command::{Command, Context, Create, Fence, Intent};
use super::event::{Event, NodeFailed};
use super::evolve::apply;
use super::rejection::Rejection;
use super::retry::retry_at;
use super::state::{Slot, State};
use super::status::{JobStatus, NodeStatus};
use super::{dispatch, engine, report, time};
use crate::failure::Failure;
use crate::id::{NodeId, RunId};
use crate::json::clean_text;
use crate::outcome::Decision;

/// No decision makes more events than this.
pub const EVENTS_MAX: usize = 1_000;
/// One append takes no more events of a job than this, so that no job holds up the others.
pub const APPEND_EVENTS_MAX: usize = 256;
/// No decision makes more bytes of events than about this.
pub const EVENT_BYTES_MAX: usize = 1024 * 1024;

/// Says which events follow from `command`, or why it is refused.
///
/// What the engine does by itself after them (a conditional, an expansion, the end of the job) is
/// the answer to [`Command::Advance`]; [`handle`] asks for it until nothing is left.
pub fn decide(
    state: &State,
    command: Command,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    match command {
        Command::Create(create) => self::create(state, *create, ctx),
        Command::Cancel { reason } => cancel(state, &reason),
        Command::Pause { reason } => pause(state, &reason),
        Command::Resume => resume(state),
        Command::Claim => claim(state, ctx),
        Command::Report(report) => {
            fenced(state, ctx)?;
            report::decide(state, *report, ctx)
        }
        Command::Dispatch(window) => {
            live(state, ctx)?;
            Ok(Decision::Accepted(dispatch::decide(state, &window, ctx)))
        }
        Command::RunLost {
            node,
            attempt,
            epoch,
            run,
        } => {
            live(state, ctx)?;
            run_lost(state, &node, (attempt, epoch, run), ctx)
        }
        Command::MessageLost {
            node,
            attempt,
            epoch,
        } => {
            live(state, ctx)?;
            message_lost(state, &node, attempt, epoch, ctx)
        }
        Command::TimePassed => {
            live(state, ctx)?;
            Ok(Decision::Accepted(time::decide(state, ctx)))
        }
        Command::Advance => {
            live(state, ctx)?;
            Ok(Decision::Accepted(engine::decide(state, ctx)))
        }
    }
}

/// Decides, applies, and lets the engine go on until it is settled or the decision is full.
///
/// On a rejection the state is unchanged. If the decision is full, [`State::is_settled`] is false
/// and the caller appends what it has and sends [`Command::Advance`].
pub fn handle(
    state: &mut State,
    command: Command,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    let mut events = match decide(state, command, ctx)? {
        Decision::AlreadyApplied => return Ok(Decision::AlreadyApplied),
        Decision::Accepted(events) => events,
    };
    events.iter().for_each(|event| apply(state, event));
    if state.is_settled() {
        // Nearly always: one report, one event, and nothing to measure.
        return Ok(Decision::Accepted(events));
    }
    let mut bytes: usize = events.iter().map(crate::json::size_bytes).sum();
    // One engine step makes at most three events of 512 KB together.
    while !state.is_settled() && events.len() + 3 <= EVENTS_MAX && bytes < EVENT_BYTES_MAX / 2 {
        let more = engine::decide(state, ctx);
        if more.is_empty() {
            break;
        }
        for event in more {
            bytes += crate::json::size_bytes(&event);
            apply(state, &event);
            events.push(event);
        }
    }
    Ok(Decision::Accepted(events))
}

/// The claim of the caller, if it is that of the owner.
pub(super) fn fenced(state: &State, ctx: &Context) -> Result<Fence, Rejection> {
    let held = state.claim.ok_or(Rejection::NoJob)?;
    let given = ctx.fence.ok_or(Rejection::NoFence)?;
    if held == given {
        Ok(given)
    } else {
        Err(Rejection::Fenced {
            owner: held.owner,
            epoch: held.epoch,
        })
    }
}

/// The caller owns the job and the job goes on.
fn live(state: &State, ctx: &Context) -> Result<(), Rejection> {
    fenced(state, ctx)?;
    open(state)
}

fn open(state: &State) -> Result<(), Rejection> {
    if state.created.is_none() {
        return Err(Rejection::NoJob);
    }
    if state.status.is_terminal() {
        return Err(Rejection::Ended {
            status: state.status,
        });
    }
    Ok(())
}

fn create(state: &State, create: Create, ctx: &Context) -> Result<Decision<Event>, Rejection> {
    let fence = ctx.fence.ok_or(Rejection::NoFence)?;
    let expected = &create.job.workflow.hash;
    if *expected != state.graph.workflow.hash {
        return Err(Rejection::WrongDefinition {
            expected: expected.clone(),
            found: state.graph.workflow.hash.clone(),
        });
    }
    if let Some(existing) = &state.created {
        // The same claim again is a repeat; anybody else has lost the race.
        return match (state.claim, **existing == create.job) {
            (Some(held), true) if held == fence => Ok(Decision::AlreadyApplied),
            (Some(held), true) => Err(Rejection::Fenced {
                owner: held.owner,
                epoch: held.epoch,
            }),
            _ => Err(Rejection::JobExists),
        };
    }
    if fence.epoch != 1 {
        return Err(Rejection::WrongEpoch {
            expected: 1,
            found: fence.epoch,
        });
    }
    let mut events = vec![Event::JobCreated(Box::new(create.job))];
    if !create.reused_nodes.is_empty() || !create.reused_children.is_empty() {
        events.push(Event::OutputsReused {
            nodes: create.reused_nodes,
            children: create.reused_children,
        });
    }
    // Nothing is at work yet, so there is nobody to wait for.
    events.push(Event::JobClaimed {
        owner: fence.owner,
        epoch: fence.epoch,
        grace_until: ctx.now,
    });
    Ok(Decision::Accepted(events))
}

/// The event of a claim by somebody who has not folded the job yet.
///
/// Folding may be what killed the owner before, so the claim must be on record first. The log checks
/// what [`decide`](self::decide()) would: the job is open, and nobody else was faster.
#[must_use]
pub fn claimed(fence: Fence, ctx: &Context) -> Event {
    let grace_until = ctx.now + ctx.policy.claim_grace;
    Event::JobClaimed {
        owner: fence.owner,
        epoch: fence.epoch,
        grace_until,
    }
}

/// The event of a wish from outside, whose sender has not folded the job: a cancel of 100,000 nodes
/// is one event all the same.
///
/// The log refuses it once the job has ended, and [`evolve`](super::evolve()) takes a repeated one as nothing.
#[must_use]
pub fn intended(intent: &Intent) -> Event {
    match intent {
        Intent::Cancel { reason } => Event::JobCancelled {
            reason: clean_text(reason),
        },
        Intent::Pause { reason } => Event::JobPaused {
            reason: clean_text(reason),
        },
        Intent::Resume => Event::JobResumed,
    }
}

fn claim(state: &State, ctx: &Context) -> Result<Decision<Event>, Rejection> {
    let given = ctx.fence.ok_or(Rejection::NoFence)?;
    open(state)?;
    let held = state.claim.ok_or(Rejection::NoJob)?;
    if held == given {
        return Ok(Decision::AlreadyApplied);
    }
    if given.epoch != held.epoch + 1 {
        return Err(Rejection::WrongEpoch {
            expected: held.epoch + 1,
            found: given.epoch,
        });
    }
    Ok(Decision::Accepted(vec![claimed(given, ctx)]))
}

fn cancel(state: &State, reason: &str) -> Result<Decision<Event>, Rejection> {
    if state.status == JobStatus::Cancelled {
        return Ok(Decision::AlreadyApplied);
    }
    open(state)?;
    Ok(Decision::Accepted(vec![Event::JobCancelled {
        reason: clean_text(reason),
    }]))
}

fn pause(state: &State, reason: &str) -> Result<Decision<Event>, Rejection> {
    open(state)?;
    if state.paused {
        return Ok(Decision::AlreadyApplied);
    }
    Ok(Decision::Accepted(vec![Event::JobPaused {
        reason: clean_text(reason),
    }]))
}

fn resume(state: &State) -> Result<Decision<Event>, Rejection> {
    open(state)?;
    if !state.paused {
        return Ok(Decision::AlreadyApplied);
    }
    Ok(Decision::Accepted(vec![Event::JobResumed]))
}

fn run_lost(
    state: &State,
    node: &NodeId,
    (attempt, epoch, run): (u32, u32, RunId),
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    let no_task = || Rejection::NoTask { node: node.clone() };
    let slot = state.slot(node).ok_or_else(no_task)?;
    let work = state.work(slot).ok_or_else(no_task)?;
    let current = work.status == NodeStatus::Running
        && (work.attempt, work.epoch, work.run) == (attempt, epoch, Some(run));
    if !current {
        // The run has ended in some other way meanwhile; there is nothing to lose.
        return Ok(Decision::AlreadyApplied);
    }
    if work.lost_runs + 1 < ctx.policy.lost_runs_max {
        let lost = Event::RunLost {
            node: node.clone(),
            attempt,
            epoch,
            run,
        };
        return Ok(Decision::Accepted(vec![lost]));
    }
    let message = format!(
        "{} runs in a row ended without a word",
        ctx.policy.lost_runs_max
    );
    let failure = Failure::new(
        crate::failure::FailureClass::Transient,
        "runs_lost",
        &message,
    );
    Ok(Decision::Accepted(failed(
        state,
        slot,
        Some(run),
        failure,
        ctx,
    )))
}

fn message_lost(
    state: &State,
    node: &NodeId,
    attempt: u32,
    epoch: u32,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    let no_task = || Rejection::NoTask { node: node.clone() };
    let slot = state.slot(node).ok_or_else(no_task)?;
    let work = state.work(slot).ok_or_else(no_task)?;
    let task = state.graph.task(slot.node).ok_or_else(no_task)?;
    if work.status != NodeStatus::Dispatched || (work.attempt, work.epoch) != (attempt, epoch) {
        return Ok(Decision::AlreadyApplied);
    }
    if epoch >= ctx.policy.sendings_max {
        // Somebody takes it out of the queue each time and never says a word.
        let message = format!("{epoch} messages of this task were lost");
        let class = crate::failure::FailureClass::Transient;
        let failure = Failure::new(class, "messages_lost", &message);
        let events = failed(state, slot, None, failure, ctx);
        return Ok(Decision::Accepted(events));
    }
    Ok(Decision::Accepted(vec![Event::NodeRedispatched {
        node: node.clone(),
        attempt,
        epoch: epoch + 1,
        deadline_at: time::after(ctx.now, task.dispatch_timeout_seconds),
    }]))
}

/// An attempt has failed: try again, or end the job.
pub(super) fn failed(
    state: &State,
    slot: Slot,
    run: Option<RunId>,
    failure: Failure,
    ctx: &Context,
) -> Vec<Event> {
    let node = state.id(slot);
    let (attempt, epoch) = state.work(slot).map_or((1, 0), |w| (w.attempt, w.epoch));
    let retry_at = retry_at(state, slot, attempt, failure.class, ctx.now);
    let event = NodeFailed {
        node: node.clone(),
        attempt,
        epoch,
        run,
        failure,
        failed_at: retry_at.map(|_| ctx.now),
        retry_at,
    };
    if retry_at.is_some() {
        return vec![Event::NodeFailed(Box::new(event))];
    }
    let failure = event.failure.clone();
    let mut events = vec![Event::NodeFailed(Box::new(event))];
    events.extend(end_events(
        state,
        Event::JobFailed {
            node: Some(node),
            failure,
        },
    ));
    events
}

/// A job ends out of RUNNING, also when nothing was ever dispatched.
pub(super) fn end_events(state: &State, end: Event) -> Vec<Event> {
    if state.status == JobStatus::Pending {
        vec![Event::JobStarted, end]
    } else {
        vec![end]
    }
}
