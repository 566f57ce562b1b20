//! Applies what happened to a request.

use super::{Event, Progress, State};

/// Folds one event into the state; total, and a repeated event changes nothing.
///
/// Whichever of job and withdrawal came first stands.
#[must_use]
pub fn evolve(mut state: State, event: &Event) -> State {
    match event {
        Event::RequestSubmitted { submission, at } => {
            state
                .submitted
                .get_or_insert_with(|| (submission.clone(), *at));
        }
        Event::JobAssigned { job_id, .. } => {
            if state.progress == Progress::Waiting {
                state.progress = Progress::Assigned { job_id: *job_id };
            }
        }
        Event::RequestWithdrawn { reason, .. } => {
            if state.progress == Progress::Waiting {
                let reason = reason.clone();
                state.progress = Progress::Withdrawn { reason };
            }
        }
    }
    state
}
