//! `strata audit`: whether the log is what was written, and proofs of it.
//!
//! Verifying and proving work on the database itself: an API that was changed with it could say anything.
//! Checking a proof needs nothing but the file.

pub(crate) mod args;
mod check;
mod prove;
mod verify;

pub(crate) use verify::{chain, connections};

use std::path::Path;

use domain::event::checkpoint::{NOTE_BYTES_MAX, PublicKey, Signed};

use crate::exit::{Exit, Stop};
use crate::output::Console;
use args::{AuditCommand, KeyArgs, LogPlace};

pub(crate) fn run(command: &AuditCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    match command {
        AuditCommand::Verify(args) => verify::run(args, console),
        AuditCommand::Proof(args) => prove::run(args, console),
        AuditCommand::Check(args) => check::run(args, console),
        AuditCommand::Key(args) => key(args, console),
        AuditCommand::Checkpoint(args) => prove::checkpoint(args, console),
    }
}

fn key(args: &KeyArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let key = match args.make {
        true => Some(args.own.ensure(&args.data_dir)?),
        false => args.own.find(&args.data_dir)?,
    };
    let Some(key) = key else {
        let file = args.own.file(&args.data_dir);
        return Err(Stop::not_found(
            format!("there is no key in {}", file.display()),
            "strata audit key --make",
        ));
    };
    console.data(&key.public().text())?;
    Ok(Exit::Ok)
}

/// The public key of the key at hand.
fn own_key(place: &LogPlace) -> anyhow::Result<Option<PublicKey>> {
    let key = place.own.find(&place.data_dir)?;
    Ok(key.map(|key| key.public()))
}

/// A checkpoint that somebody kept.
fn known(file: &Path) -> anyhow::Result<Signed> {
    let refused = |why: String| {
        Stop::usage(
            format!("--known {}: {why}", file.display()),
            "strata audit checkpoint",
        )
    };
    let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    if text.len() > NOTE_BYTES_MAX {
        return Err(refused("it is too long for one checkpoint".to_owned()));
    }
    Signed::parse(&text).map_err(|error| refused(error.to_string()))
}
