//! Which events follow from a command, or why it is refused.

use super::{Command, Event, Progress, Rejection, State};
use crate::context::Context;
use crate::json::clean_text;
use crate::outcome::Decision;

/// Decides a command on one callback.
pub fn decide(
    state: &State,
    command: Command,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    let at = ctx.now;
    match command {
        Command::RecordDelivered {
            job_id,
            round,
            attempts,
            status_code,
        } => {
            check_round(state, round)?;
            // Delivered stands over given up: a sender whose lease ran out may come through after all.
            if state.progress == Progress::Delivered {
                return Ok(Decision::AlreadyApplied);
            }
            Ok(Decision::Accepted(vec![Event::CallbackDelivered {
                job_id,
                round,
                attempts,
                status_code,
                at,
            }]))
        }
        Command::RecordGivenUp {
            job_id,
            round,
            attempts,
            code,
            message,
        } => {
            check_round(state, round)?;
            match state.progress {
                Progress::GivenUp => Ok(Decision::AlreadyApplied),
                Progress::Delivered => Err(Rejection::Delivered),
                Progress::OnItsWay => Ok(Decision::Accepted(vec![Event::CallbackGivenUp {
                    job_id,
                    round,
                    attempts,
                    code: clean_text(&code),
                    message: clean_text(&message),
                    at,
                }])),
            }
        }
        Command::RequestRedelivery => redeliver(state, ctx),
    }
}

fn redeliver(state: &State, ctx: &Context) -> Result<Decision<Event>, Rejection> {
    let Some(job_id) = state
        .job_id
        .filter(|_| state.progress != Progress::OnItsWay)
    else {
        return Err(Rejection::OnItsWay);
    };
    let requested = Event::CallbackRedeliveryRequested {
        job_id,
        round: state.round.saturating_add(1),
        at: ctx.now,
    };
    Ok(Decision::Accepted(vec![requested]))
}

fn check_round(state: &State, given: u32) -> Result<(), Rejection> {
    let current = state.round;
    if given == current {
        return Ok(());
    }
    Err(Rejection::RoundOver { given, current })
}
