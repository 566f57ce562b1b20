//! Which events follow from a command, or why it is refused.

use std::collections::BTreeSet;

use super::{Command, Event, Platform, Rejection, State};
use crate::context::Context;
use crate::json::clean_text;
use crate::outcome::Decision;

/// Longest name of a platform.
pub const NAME_BYTES_MAX: usize = 200;
/// How many refs a platform may declare, required and optional together.
pub const REFS_MAX: usize = 32;

/// Decides a command on one platform.
pub fn decide(
    state: &State,
    command: Command,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    let Command::Register {
        platform_id,
        name,
        required_refs,
        optional_refs,
    } = command
    else {
        return Ok(carry(state, ctx));
    };
    check_form(&platform_id, &name)?;
    let (required_refs, optional_refs) = check_scheme(&platform_id, required_refs, optional_refs)?;
    let at = ctx.now;
    let Some(known) = state.platform() else {
        return Ok(Decision::Accepted(vec![Event::PlatformRegistered {
            platform_id,
            name: clean_text(&name),
            required_refs,
            optional_refs,
            at,
        }]));
    };
    check_identity(known, platform_id, required_refs)?;
    let name = clean_text(&name);
    if known.name == name && known.optional_refs == optional_refs {
        return Ok(Decision::AlreadyApplied);
    }
    Ok(Decision::Accepted(vec![Event::PlatformUpdated {
        name,
        optional_refs,
        at,
    }]))
}

fn carry(state: &State, ctx: &Context) -> Decision<Event> {
    let carried = state.platform().map(|platform| Event::PlatformCarried {
        platform: platform.clone(),
        at: ctx.now,
    });
    Decision::Accepted(carried.into_iter().collect())
}

/// Whether a text may be the id of a platform: `[a-z][a-z0-9_-]{0,63}`.
#[must_use]
pub fn is_platform_id(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

fn check_form(platform_id: &str, name: &str) -> Result<(), Rejection> {
    if !is_platform_id(platform_id) {
        let platform_id = shown(platform_id);
        return Err(Rejection::InvalidId { platform_id });
    }
    if name.trim().is_empty() || name.len() > NAME_BYTES_MAX {
        let size_bytes = name.len();
        return Err(Rejection::InvalidName { size_bytes });
    }
    Ok(())
}

/// Both lists as sets: the order in which refs are declared means nothing.
fn check_scheme(
    platform_id: &str,
    required: Vec<String>,
    optional: Vec<String>,
) -> Result<(BTreeSet<String>, BTreeSet<String>), Rejection> {
    if required.is_empty() {
        let platform_id = platform_id.to_owned();
        return Err(Rejection::NoRequiredRef { platform_id });
    }
    let count = required.len().saturating_add(optional.len());
    if count > REFS_MAX {
        return Err(Rejection::TooManyRefs { count });
    }
    let mut seen = BTreeSet::new();
    for name in required.iter().chain(&optional) {
        if !is_ref_name(name) {
            return Err(Rejection::InvalidRefName { name: shown(name) });
        }
        if !seen.insert(name) {
            return Err(Rejection::DuplicateRef { name: name.clone() });
        }
    }
    Ok((
        required.into_iter().collect(),
        optional.into_iter().collect(),
    ))
}

fn check_identity(
    known: &Platform,
    platform_id: String,
    required_refs: BTreeSet<String>,
) -> Result<(), Rejection> {
    if known.platform_id != platform_id {
        return Err(Rejection::OtherPlatform {
            registered: known.platform_id.clone(),
            given: platform_id,
        });
    }
    if known.required_refs != required_refs {
        return Err(Rejection::IdentityChanged {
            platform_id,
            registered: known.required_refs.clone(),
            given: required_refs,
        });
    }
    Ok(())
}

fn is_ref_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// A text from outside, short enough for a message.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
