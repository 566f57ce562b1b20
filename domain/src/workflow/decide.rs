//! Which events follow from a command, or why it is refused.

use super::{Command, Event, Rejection, State, Version};
use crate::context::Context;
use crate::json::{clean_text, is_sha256_hex};
use crate::outcome::Decision;

/// Longest workflow file.
pub const SOURCE_BYTES_MAX: usize = 1024 * 1024;

/// Decides a command on one workflow definition.
pub fn decide(
    state: &State,
    command: Command,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    match command {
        Command::Register {
            version,
            hash,
            source,
            handlers,
        } => {
            let known = is_known(state, version, &hash, &source)?;
            if known {
                return Ok(Decision::AlreadyApplied);
            }
            Ok(Decision::Accepted(vec![Event::WorkflowRegistered {
                version,
                hash,
                source,
                handlers,
                at: ctx.now,
            }]))
        }
        Command::Carry => Ok(Decision::Accepted(carry(state, ctx))),
    }
}

fn carry(state: &State, ctx: &Context) -> Vec<Event> {
    let again = |known: &Version| Event::WorkflowCarried {
        version: known.number,
        hash: known.hash.clone(),
        source: known.source.clone(),
        handlers: known.handlers.clone(),
        registered_at: known.registered_at,
        at: ctx.now,
    };
    state.versions().map(again).collect()
}

/// Whether the version is known with this very content.
fn is_known(state: &State, version: u32, hash: &str, source: &str) -> Result<bool, Rejection> {
    if version == 0 {
        return Err(Rejection::VersionZero);
    }
    if source.trim().is_empty() {
        return Err(Rejection::SourceEmpty);
    }
    if source.len() > SOURCE_BYTES_MAX {
        let size_bytes = source.len();
        return Err(Rejection::SourceTooLong { size_bytes });
    }
    if !is_sha256_hex(hash) {
        let hash = clean_text(hash).chars().take(80).collect();
        return Err(Rejection::InvalidHash { hash });
    }
    match state.find(version) {
        // Equal content in another spelling (comments, key order) is still the same version.
        Some(known) if known.hash == hash => Ok(true),
        Some(known) => Err(Rejection::VersionTaken {
            version,
            registered: known.hash.clone(),
            given: hash.to_owned(),
        }),
        None => Ok(false),
    }
}
