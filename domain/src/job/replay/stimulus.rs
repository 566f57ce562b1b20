//! Which command a recorded event answers.
//!
//! What comes from outside stands in the log as the event that it led to: the report of a worker in `node_completed`,
//! the choice of what enters a queue in `node_dispatched`. From that event the command is made again.

use serde_json::Map;

use crate::failure::FailureClass;
use crate::id::{NodeId, RunId};
use crate::job::checkpoint::Checkpoint;
use crate::job::command::{Command, Create, Outcome, Report};
use crate::job::event::{Event, NodeFailed};
use crate::job::state::State;
use crate::job::status::NodeStatus;
use crate::job::time::{DISPATCH_TIMEOUT, EXECUTION_TIMEOUT, timed_out};
use crate::priority::Priority;

/// What led to an event.
pub(super) enum Stimulus {
    /// A command that is known whole.
    Command(Command),
    /// Work was handed out; how much of it, the following events say.
    Dispatch(NodeId),
    /// Timers were due; these among them.
    Timers(Vec<NodeId>),
    /// Nothing from outside leads to such an event.
    None,
}

/// What an event answers that does not follow from the ones before it.
pub(super) fn of(state: &State, event: &Event) -> Stimulus {
    match event {
        Event::NodeDispatched(sent) => Stimulus::Dispatch(sent.node.clone()),
        Event::NodesReady { nodes } => {
            let waits = |node: &NodeId| status(state, node) == Some(NodeStatus::Failed);
            match !nodes.is_empty() && nodes.iter().all(waits) {
                true => Stimulus::Timers(nodes.clone()),
                false => Stimulus::None,
            }
        }
        Event::NodeRedispatched {
            node,
            attempt,
            epoch,
            ..
        } => Stimulus::Command(Command::MessageLost {
            node: node.clone(),
            attempt: *attempt,
            epoch: epoch.saturating_sub(1),
        }),
        Event::NodeFailed(failed) => of_failure(state, failed),
        Event::RunLost {
            node,
            attempt,
            epoch,
            run,
        } => run_lost(node, *attempt, *epoch, *run),
        _ => of_report(event),
    }
}

/// What a worker said.
fn of_report(event: &Event) -> Stimulus {
    let report = |node: &NodeId, (attempt, epoch), run, worker: &str, outcome| {
        Stimulus::Command(Command::Report(Box::new(Report {
            node: node.clone(),
            attempt,
            epoch,
            run,
            worker: worker.to_owned(),
            outcome,
        })))
    };
    match event {
        Event::NodeStarted {
            node,
            attempt,
            epoch,
            run,
            worker,
            ..
        } => report(node, (*attempt, *epoch), *run, worker, Outcome::Started),
        Event::CheckpointSaved {
            node,
            attempt,
            epoch,
            run,
            checkpoint,
        } => {
            let outcome = Outcome::Checkpoint(checkpoint.clone());
            report(node, (*attempt, *epoch), *run, "", outcome)
        }
        Event::NodeCompleted(done) => {
            let outcome = Outcome::Completed {
                output: done.output.clone(),
                external: done.external.clone(),
                metrics: done.metrics.clone(),
            };
            let sending = (done.attempt, done.epoch);
            report(&done.node, sending, done.run, &done.worker, outcome)
        }
        Event::RunReleased {
            node,
            attempt,
            epoch,
            run,
        } => report(node, (*attempt, *epoch), *run, "", Outcome::Released),
        Event::ReportIgnored {
            node,
            attempt,
            epoch,
            run,
            report: word,
            ..
        } => match without_effect(word) {
            Some(outcome) => report(node, (*attempt, *epoch), *run, "", outcome),
            None => Stimulus::None,
        },
        _ => Stimulus::None,
    }
}

/// The command that made a job; its events stand together.
pub(super) fn creation(first: &Event, second: Option<&Event>) -> Option<Command> {
    let Event::JobCreated(job) = first else {
        return None;
    };
    let (reused_nodes, reused_children) = match second {
        Some(Event::OutputsReused { nodes, children }) => (nodes.clone(), children.clone()),
        _ => (Vec::new(), Vec::new()),
    };
    Some(Command::Create(Box::new(Create {
        job: (**job).clone(),
        reused_nodes,
        reused_children,
    })))
}

/// An attempt may fail in many ways; where it stood tells them apart.
fn of_failure(state: &State, failed: &NodeFailed) -> Stimulus {
    let node = &failed.node;
    let class = failed.failure.class;
    let code = failed.failure.code.as_str();
    let timed_out = |wanted: &'static str| {
        let (_, what) = timed_out(wanted);
        class == FailureClass::Timeout && code == wanted && failed.failure.message == what
    };
    match (status(state, node), failed.run) {
        // Only what could not be sent fails while it waits.
        (Some(NodeStatus::Ready), None) => Stimulus::Dispatch(node.clone()),
        (Some(NodeStatus::Dispatched), None) if timed_out(DISPATCH_TIMEOUT) => {
            Stimulus::Timers(vec![node.clone()])
        }
        (Some(NodeStatus::Dispatched), None) if code == "messages_lost" => {
            Stimulus::Command(Command::MessageLost {
                node: node.clone(),
                attempt: failed.attempt,
                epoch: failed.epoch,
            })
        }
        (Some(NodeStatus::Running), Some(_)) if timed_out(EXECUTION_TIMEOUT) => {
            Stimulus::Timers(vec![node.clone()])
        }
        (_, Some(run)) if code == "runs_lost" && class == FailureClass::Transient => {
            run_lost(node, failed.attempt, failed.epoch, run)
        }
        // Also an output that broke the contract: it was not kept, and what was made of it is a fact.
        (_, Some(run)) => Stimulus::Command(Command::Report(Box::new(Report {
            node: node.clone(),
            attempt: failed.attempt,
            epoch: failed.epoch,
            run,
            worker: String::new(),
            outcome: Outcome::Failed(failed.failure.clone()),
        }))),
        _ => Stimulus::None,
    }
}

fn run_lost(node: &NodeId, attempt: u32, epoch: u32, run: RunId) -> Stimulus {
    Stimulus::Command(Command::RunLost {
        node: node.clone(),
        attempt,
        epoch,
        run,
    })
}

/// A report that only its kind is known of. It had no effect, so nothing else of it matters.
fn without_effect(word: &str) -> Option<Outcome> {
    Some(match word {
        "checkpoint" => Outcome::Checkpoint(Checkpoint {
            seq: u64::MAX,
            phase: String::new(),
            phase_index: 0,
            phases_total: 0,
            progress: None,
            state: serde_json::Value::Null,
            artifacts: Vec::new(),
            is_final: false,
        }),
        "completed" => Outcome::Completed {
            output: Map::new().into(),
            external: None,
            metrics: Map::new(),
        },
        // The same failure again would have been taken for a repetition, and not been recorded.
        "failed" => Outcome::Failed(crate::failure::Failure::new(
            FailureClass::Transient,
            "replay: not known",
            "",
        )),
        "released" => Outcome::Released,
        _ => return None,
    })
}

fn status(state: &State, node: &NodeId) -> Option<NodeStatus> {
    let slot = state.slot(node)?;
    state.work(slot).map(|work| work.status)
}

/// What a command is, for people.
pub(super) fn word(command: &Command) -> String {
    match command {
        Command::Create(_) => "create the job".to_owned(),
        Command::Claim => "claim the job".to_owned(),
        Command::Dispatch(window) => {
            let lanes = window.slots.iter();
            let lanes = lanes.map(|((queue, priority), slots)| lane(queue, *priority, *slots));
            format!("dispatch {}", lanes.collect::<Vec<_>>().join(", "))
        }
        Command::Report(report) => {
            let word = report.outcome.word();
            format!(
                "report `{word}` of {}, attempt {}",
                report.node, report.attempt
            )
        }
        Command::RunLost { node, attempt, .. } => {
            format!("a run of {node} was lost, attempt {attempt}")
        }
        Command::MessageLost { node, attempt, .. } => {
            format!("the message of {node} was lost, attempt {attempt}")
        }
        Command::TimePassed => "time passed".to_owned(),
        Command::Advance => "go on".to_owned(),
        Command::Cancel { .. } => "cancel".to_owned(),
        Command::Pause { .. } => "pause".to_owned(),
        Command::Resume => "resume".to_owned(),
    }
}

fn lane(queue: &str, priority: Priority, slots: u32) -> String {
    format!("{slots} to {queue} ({priority})")
}
