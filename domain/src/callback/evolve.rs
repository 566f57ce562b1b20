//! Applies what happened to a callback.

use super::{Event, Progress, State};

/// Folds one event into the state; total, and a repeated event changes nothing.
#[must_use]
pub fn evolve(mut state: State, event: &Event) -> State {
    match event {
        Event::CallbackDelivered { job_id, round, .. } => {
            state.job_id = Some(*job_id);
            if *round == state.round {
                state.progress = Progress::Delivered;
            }
        }
        Event::CallbackGivenUp { job_id, round, .. } => {
            state.job_id = Some(*job_id);
            if *round == state.round && state.progress == Progress::OnItsWay {
                state.progress = Progress::GivenUp;
            }
        }
        Event::CallbackRedeliveryRequested { job_id, round, .. } => {
            state.job_id = Some(*job_id);
            if *round > state.round {
                state.round = *round;
                state.progress = Progress::OnItsWay;
            }
        }
    }
    state
}
