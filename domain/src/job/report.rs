//! What a worker's report changes.

use serde_json::{Map, Value};

use super::checkpoint::CHECKPOINT_BYTES_MAX;
use super::command::{Context, Outcome, Report};
use super::decide::failed;
use super::event::{Blob, Event, NodeCompleted};
use super::group::HANDOFF_BYTES_MAX;
use super::rejection::Rejection;
use super::state::{Slot, State, Work};
use super::status::NodeStatus;
use super::time::after;
use crate::definition::graph::{Kind, TaskSpec};
use crate::failure::{Failure, FailureClass};
use crate::json::{DEPTH_MAX, clean, clean_text, is_deeper_than, size_bytes};
use crate::outcome::Decision;

/// Largest output that travels inline; the shell moves larger ones to the object store.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// Largest metrics of one report.
const METRICS_BYTES_MAX: usize = 16 * 1024;
/// How many reports without effect are recorded per job.
const IGNORED_MAX: usize = 256;

type Answer = Result<Decision<Event>, Rejection>;

pub(super) fn decide(state: &State, report: Report, ctx: &Context) -> Answer {
    let no_task = || Rejection::NoTask {
        node: report.node.clone(),
    };
    let slot = state.slot(&report.node).ok_or_else(no_task)?;
    let task = state.graph.task(slot.node).ok_or_else(no_task)?;
    let is_child = slot.child.is_some();
    let fans_out = matches!(
        state.graph.node(slot.node).map(|n| &n.kind),
        Some(Kind::FanOut(_))
    );
    if is_child != fans_out {
        return Err(no_task());
    }
    let work = state.work(slot).ok_or_else(no_task)?;
    if (report.attempt, report.epoch) > (work.attempt, work.epoch) {
        let Report {
            node,
            attempt,
            epoch,
            ..
        } = report;
        return Err(Rejection::NotDispatched {
            node,
            attempt,
            epoch,
        });
    }
    if let Some(answer) = settled(state, slot, work, &report) {
        return answer;
    }
    match (work.status, work.run) {
        (NodeStatus::Dispatched, _) => first_word(state, slot, task, report, ctx),
        (NodeStatus::Running, Some(run)) if run == report.run => {
            next_word(state, slot, work, report, ctx)
        }
        (NodeStatus::Running, Some(run)) if report.outcome == Outcome::Started => {
            Err(Rejection::AlreadyRunning {
                node: report.node,
                run,
            })
        }
        _ => ignored(state, slot, &report, "another run has taken its place"),
    }
}

/// The answer to a report that can no longer change anything.
fn settled(state: &State, slot: Slot, work: &Work, report: &Report) -> Option<Answer> {
    let current = (report.attempt, report.epoch) == (work.attempt, work.epoch);
    let same_run = work.run == Some(report.run);
    if !current {
        return Some(ignored(
            state,
            slot,
            report,
            "a later attempt or sending has taken its place",
        ));
    }
    // This very report took effect before, and its answer was lost.
    let repeated = match &report.outcome {
        Outcome::Completed { .. } => work.status == NodeStatus::Completed,
        Outcome::Failed(failure) => {
            work.status == NodeStatus::Failed
                && work
                    .failure
                    .as_ref()
                    .is_some_and(|f| f.code == clean_text(&failure.code))
        }
        Outcome::Released => work.status == NodeStatus::Ready,
        Outcome::Started | Outcome::Checkpoint(_) => false,
    };
    // A run that was handed back has left no trace of itself.
    if repeated && (same_run || report.outcome == Outcome::Released) {
        return Some(Ok(Decision::AlreadyApplied));
    }
    if state.status.is_terminal() {
        return Some(ignored(state, slot, report, "the job has ended"));
    }
    match work.status {
        NodeStatus::Dispatched | NodeStatus::Running => None,
        _ => Some(ignored(
            state,
            slot,
            report,
            "the node is no longer at work",
        )),
    }
}

/// A late report is recorded once and has no effect.
fn ignored(state: &State, slot: Slot, report: &Report, reason: &str) -> Answer {
    if report.outcome == Outcome::Started {
        // It must never look like a start: the worker has to drop the task.
        return Err(Rejection::Superseded {
            node: report.node.clone(),
            reason: reason.to_owned(),
        });
    }
    let word = report.outcome.word();
    let key = (
        slot,
        report.attempt,
        report.epoch,
        report.run,
        word.to_owned(),
    );
    if state.ignored.contains(&key) {
        return Ok(Decision::AlreadyApplied);
    }
    if state.ignored.len() >= IGNORED_MAX {
        return Err(Rejection::Stale);
    }
    Ok(Decision::Accepted(vec![Event::ReportIgnored {
        node: report.node.clone(),
        attempt: report.attempt,
        epoch: report.epoch,
        run: report.run,
        report: word.to_owned(),
        reason: reason.to_owned(),
    }]))
}

/// The first report about a dispatched task.
fn first_word(state: &State, slot: Slot, task: &TaskSpec, report: Report, ctx: &Context) -> Answer {
    match report.outcome {
        Outcome::Started => {
            let limit = after(ctx.now, task.timeout_seconds) + ctx.policy.execution_grace;
            Ok(Decision::Accepted(vec![Event::NodeStarted {
                node: report.node,
                attempt: report.attempt,
                epoch: report.epoch,
                run: report.run,
                worker: clean_text(&report.worker),
                deadline_at: limit,
            }]))
        }
        // Start and end in one report save a round trip; only safe if running twice does no harm.
        Outcome::Completed { .. } | Outcome::Failed(_) if task.idempotent => {
            finish(state, slot, report, ctx)
        }
        // Nothing was taken, so there is nothing to hand back.
        Outcome::Released => Ok(Decision::AlreadyApplied),
        _ => Err(Rejection::NotStarted { node: report.node }),
    }
}

/// A report of the run that is at work.
fn next_word(state: &State, slot: Slot, work: &Work, report: Report, ctx: &Context) -> Answer {
    match report.outcome {
        Outcome::Started => Ok(Decision::AlreadyApplied),
        Outcome::Checkpoint(checkpoint) => {
            if size_bytes(&checkpoint) > CHECKPOINT_BYTES_MAX
                || is_deeper_than(&checkpoint.state, DEPTH_MAX)
            {
                return Err(Rejection::CheckpointTooLarge {
                    max_bytes: CHECKPOINT_BYTES_MAX,
                });
            }
            if work
                .checkpoint
                .as_ref()
                .is_some_and(|last| last.seq >= checkpoint.seq)
            {
                return Ok(Decision::AlreadyApplied);
            }
            Ok(Decision::Accepted(vec![Event::CheckpointSaved {
                node: report.node,
                attempt: report.attempt,
                epoch: report.epoch,
                run: report.run,
                checkpoint: checkpoint.cleaned(),
            }]))
        }
        Outcome::Completed { .. } | Outcome::Failed(_) => finish(state, slot, report, ctx),
        Outcome::Released => Ok(Decision::Accepted(vec![Event::RunReleased {
            node: report.node,
            attempt: report.attempt,
            epoch: report.epoch,
            run: report.run,
        }])),
    }
}

fn finish(state: &State, slot: Slot, report: Report, ctx: &Context) -> Answer {
    let run = Some(report.run);
    match report.outcome {
        Outcome::Completed {
            output,
            external,
            metrics,
        } => {
            if let Some(failure) = breach(state, slot, &output) {
                return Ok(Decision::Accepted(failed(state, slot, run, failure, ctx)));
            }
            Ok(Decision::Accepted(vec![Event::NodeCompleted(Box::new(
                NodeCompleted {
                    node: report.node,
                    attempt: report.attempt,
                    epoch: report.epoch,
                    run: report.run,
                    worker: clean_text(&report.worker),
                    output: clean(output),
                    external: external.map(Blob::cleaned),
                    metrics: kept_metrics(metrics),
                },
            ))]))
        }
        Outcome::Failed(failure) => Ok(Decision::Accepted(failed(
            state,
            slot,
            run,
            failure.cleaned(),
            ctx,
        ))),
        Outcome::Started | Outcome::Checkpoint(_) | Outcome::Released => {
            Ok(Decision::AlreadyApplied)
        }
    }
}

/// Metrics are a courtesy: what is too large is left out, not refused.
fn kept_metrics(metrics: Map<String, Value>) -> Map<String, Value> {
    let metrics = Value::Object(metrics);
    let fits = size_bytes(&metrics) <= METRICS_BYTES_MAX && !is_deeper_than(&metrics, DEPTH_MAX);
    match clean(metrics) {
        Value::Object(map) if fits => map,
        _ => Map::new(),
    }
}

/// An output that breaks the contract fails its task instead of the whole machinery.
fn breach(state: &State, slot: Slot, output: &Value) -> Option<Failure> {
    let contract =
        |code, message: String| Some(Failure::new(FailureClass::Contract, code, &message));
    if !output.is_object() {
        return contract(
            "output_not_an_object",
            "a handler must return an object".to_owned(),
        );
    }
    if is_deeper_than(output, DEPTH_MAX) {
        let message = format!("the output is nested deeper than {DEPTH_MAX} levels");
        return contract("output_too_deep", message);
    }
    let bytes = size_bytes(output);
    if bytes > OUTPUT_BYTES_MAX {
        let message = format!(
            "the output has {bytes} bytes, {OUTPUT_BYTES_MAX} are allowed inline; \
             store it and return where it lies"
        );
        return contract("output_too_large", message);
    }
    let keeps_handoff = matches!(
        state.graph.node(slot.node).map(|n| &n.kind),
        Some(Kind::FanOut(spec)) if spec.keeps_handoff
    );
    let handoff_bytes = output.get("next_stage_params").map_or(0, size_bytes);
    if keeps_handoff && handoff_bytes > HANDOFF_BYTES_MAX {
        let message =
            format!("next_stage_params has {handoff_bytes} bytes, {HANDOFF_BYTES_MAX} are allowed");
        return contract("handoff_too_large", message);
    }
    None
}
