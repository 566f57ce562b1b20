//! Which events follow from a command, or why it is refused.

use serde_json::Value;

use super::{Command, Event, Inputs, Progress, Rejection, State, Submission, limits};
use crate::context::{Context, Role};
use crate::id::JobId;
use crate::json::{clean, clean_text};
use crate::outcome::Decision;

/// Decides a command on one request.
pub fn decide(
    state: &State,
    command: Command,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    match command {
        Command::Submit(submission) => submit(state, submission, ctx),
        Command::AssignJob { job_id } => assign(state, job_id, ctx),
        Command::Withdraw { reason } => withdraw(state, &reason, ctx),
    }
}

fn submit(
    state: &State,
    mut submission: Box<Submission>,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    limits::check(&submission)?;
    if let Some(known) = state.submission() {
        let same =
            known.request_id == submission.request_id && known.body_hash == submission.body_hash;
        return if same {
            Ok(Decision::AlreadyApplied)
        } else {
            Err(Rejection::Conflict {
                request_id: known.request_id,
                submitted: known.body_hash.clone(),
                given: submission.body_hash,
            })
        };
    }
    submission.inputs = clean_inputs(submission.inputs);
    Ok(Decision::Accepted(vec![Event::RequestSubmitted {
        submission,
        at: ctx.now,
    }]))
}

fn assign(state: &State, job_id: JobId, ctx: &Context) -> Result<Decision<Event>, Rejection> {
    require(ctx, Role::Orchestrator, "assign a job to")?;
    let submission = state.submission().ok_or(Rejection::NotFound)?;
    let expected = JobId::of_request(submission.request_id);
    if job_id != expected {
        let given = job_id;
        return Err(Rejection::OtherJob { given, expected });
    }
    match state.progress() {
        Progress::Assigned { .. } => Ok(Decision::AlreadyApplied),
        Progress::Withdrawn { reason } => Err(Rejection::Withdrawn {
            reason: reason.clone(),
        }),
        Progress::Waiting => {
            let at = ctx.now;
            Ok(Decision::Accepted(vec![Event::JobAssigned { job_id, at }]))
        }
    }
}

fn withdraw(state: &State, reason: &str, ctx: &Context) -> Result<Decision<Event>, Rejection> {
    require(ctx, Role::Platform, "withdraw")?;
    state.submission().ok_or(Rejection::NotFound)?;
    match state.progress() {
        Progress::Withdrawn { .. } => Ok(Decision::AlreadyApplied),
        Progress::Assigned { job_id } => Err(Rejection::JobExists { job_id: *job_id }),
        Progress::Waiting => Ok(Decision::Accepted(vec![Event::RequestWithdrawn {
            reason: clean_text(reason),
            at: ctx.now,
        }])),
    }
}

fn require(ctx: &Context, needed: Role, action: &'static str) -> Result<(), Rejection> {
    let role = ctx.actor.role;
    if role == needed {
        return Ok(());
    }
    Err(Rejection::WrongRole {
        action,
        role,
        needed,
    })
}

fn clean_inputs(inputs: Inputs) -> Inputs {
    match clean(Value::Object(inputs)) {
        Value::Object(cleaned) => cleaned,
        // Cleaning keeps the kind of a value.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Inputs::new()
        }
    }
}
