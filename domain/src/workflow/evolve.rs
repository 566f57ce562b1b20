//! Applies what happened to a workflow definition.

use super::{Event, State, Version};

/// Folds one event into the state; total, and a repeated event changes nothing.
#[must_use]
pub fn evolve(mut state: State, event: &Event) -> State {
    match event {
        Event::WorkflowRegistered {
            version,
            hash,
            source,
            handlers,
            at: registered_at,
        }
        | Event::WorkflowCarried {
            version,
            hash,
            source,
            handlers,
            registered_at,
            ..
        } => {
            state.versions.entry(*version).or_insert_with(|| Version {
                number: *version,
                hash: hash.clone(),
                source: source.clone(),
                handlers: handlers.clone(),
                registered_at: *registered_at,
            });
        }
    }
    state
}
