//! Which events follow from a command, or why it is refused.

use super::{Command, Event, Rejection, State};
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
        } => register(state, version, hash, source, ctx),
    }
}

fn register(
    state: &State,
    version: u32,
    hash: String,
    source: String,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
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
    if !is_sha256_hex(&hash) {
        let hash = clean_text(&hash).chars().take(80).collect();
        return Err(Rejection::InvalidHash { hash });
    }
    match state.find(version) {
        // Equal content in another spelling (comments, key order) is still the same version.
        Some(known) if known.hash == hash => Ok(Decision::AlreadyApplied),
        Some(known) => Err(Rejection::VersionTaken {
            version,
            registered: known.hash.clone(),
            given: hash,
        }),
        None => Ok(Decision::Accepted(vec![Event::WorkflowRegistered {
            version,
            hash,
            source,
            at: ctx.now,
        }])),
    }
}
