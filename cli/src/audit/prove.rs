//! `strata audit proof` and `checkpoint`: what others keep, or check.

use domain::event::checkpoint::PublicKey;
use projections::Error;
use projections::audit;
use sqlx::PgPool;

use super::args::{CheckpointArgs, LogPlace, ProofArgs};
use super::verify::chain;
use super::{known, own_key};
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::roles::migrate;
use crate::roles::stack::Stack;
use crate::services::files;
use crate::{logging, runtime};

pub(super) fn run(args: &ProofArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init_quiet(&args.place.log);
    let older = args.known.as_deref().map(known).transpose()?;
    let key = match &args.key {
        Some(key) => Some(key.clone()),
        None => own_key(&args.place)?,
    };
    let key = key.ok_or_else(no_key)?;
    let file = runtime::block_on(async |stop| {
        let pool = open(&args.place).await?;
        let proof = audit::prove(&pool, args.job, &key, older.as_ref(), args.wait);
        tokio::select! {
            () = stop.cancelled() => Err(Stop::with(Exit::Interrupted, "interrupted", "")),
            proof = proof => proof.map_err(refused),
        }
    })?;
    match &args.out {
        Some(out) => {
            let written = files::write(out, file.as_bytes(), 0o644);
            written.map_err(|error| {
                Stop::failed(format!("cannot write {}: {error}", out.display()), "")
            })?;
            let out = out.display();
            console.talk(&format!(
                "wrote {out}; whoever gets it checks it with\n  strata audit check {out} --key {}",
                key.text()
            ))?;
        }
        None => console.data(&file)?,
    }
    Ok(Exit::Ok)
}

/// The newest checkpoint that is good.
pub(super) fn checkpoint(args: &CheckpointArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init_quiet(&args.place.log);
    let key: PublicKey = own_key(&args.place)?.ok_or_else(no_key)?;
    let signed = runtime::block_on(async |_| {
        let pool = open(&args.place).await?;
        audit::newest_checkpoint(&pool, &key).await.map_err(refused)
    })?;
    let signed = signed
        .ok_or_else(|| Stop::not_found("no checkpoint was signed yet", "strata audit verify"))?;
    console.data(&signed.note())?;
    Ok(Exit::Ok)
}

async fn open(place: &LogPlace) -> anyhow::Result<PgPool> {
    let stack = Stack::of_database(&place.data_dir)?;
    migrate::require(&stack).await?;
    stack.pool(1).await
}

fn no_key() -> anyhow::Error {
    Stop::usage(
        "there is no key in the data directory, and none was given",
        "strata audit proof JOB --key PUBLIC",
    )
}

fn refused(error: Error) -> anyhow::Error {
    let message = chain(&error);
    match error {
        Error::NoJob(_) => Stop::not_found(message, "strata job list"),
        Error::NotSigned(_) => Stop::failed(message, "strata audit verify"),
        Error::Proof(_) | Error::Checkpoint(_) | Error::Gap(_) => {
            Stop::with(Exit::NotVerified, message, "strata audit verify")
        }
        _ => Stop::unreachable(message, "strata doctor"),
    }
}
