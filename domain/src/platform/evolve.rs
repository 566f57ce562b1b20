//! Applies what happened to a platform.

use super::{Event, Platform, State};

/// Folds one event into the state; total, and a repeated event changes nothing.
#[must_use]
pub fn evolve(mut state: State, event: &Event) -> State {
    match event {
        Event::PlatformRegistered {
            platform_id,
            name,
            required_refs,
            optional_refs,
            at,
        } => {
            state.platform.get_or_insert_with(|| Platform {
                platform_id: platform_id.clone(),
                name: name.clone(),
                required_refs: required_refs.clone(),
                optional_refs: optional_refs.clone(),
                registered_at: *at,
                updated_at: *at,
            });
        }
        Event::PlatformUpdated {
            name,
            optional_refs,
            at,
        } => {
            if let Some(platform) = &mut state.platform {
                platform.name.clone_from(name);
                platform.optional_refs.clone_from(optional_refs);
                platform.updated_at = *at;
            }
        }
        Event::PlatformCarried { platform, .. } => state.platform = Some(platform.clone()),
    }
    state
}
