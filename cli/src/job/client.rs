//! What the commands of a person need: the write side for wishes, the read models for looks.

use std::time::Duration;

use commands::log::{JobRow, LogError};
use domain::id::JobId;
use projections::read::{self, Job};
use sqlx::PgPool;

use crate::exit::Stop;
use crate::logging;
use crate::roles::args::StackArgs;
use crate::roles::budget::Budget;
use crate::roles::migrate;
use crate::roles::stack::{Stack, Write};

/// Whose work it is when a person at this machine asks for it.
pub(super) const ORG: &str = "default";
/// Who asks: opaque, as everything about people is in the log.
pub(super) const ACTOR: &str = "cli";
/// How long a look waits for the read models to show what was just written.
const CATCH_UP: Duration = Duration::from_secs(10);

/// A job as it can be seen from outside.
pub(super) enum Found {
    Job(Box<Job>),
    /// Only its request is there, or the read models have not come to it yet.
    Waiting(JobRow),
}

/// The write side, for one wish. NATS may be away: others find the wish by looking.
pub(crate) async fn write(args: &StackArgs) -> anyhow::Result<Write> {
    logging::init_quiet(&args.log);
    let stack = Stack::find(args)?;
    // Asked once and at once: a pool would try again for ten seconds.
    migrate::require(&stack).await?;
    let bus = stack.bus_if_any("cli").await?;
    stack.write(&Budget::CLIENT, bus).await
}

/// The log and the read models, for a look.
pub(super) async fn look(args: &StackArgs) -> anyhow::Result<Write> {
    logging::init_quiet(&args.log);
    let stack = Stack::find(args)?;
    migrate::require(&stack).await?;
    stack.write(&Budget::CLIENT, None).await
}

/// The read models alone.
pub(crate) async fn read(args: &StackArgs) -> anyhow::Result<PgPool> {
    logging::init_quiet(&args.log);
    let stack = Stack::find(args)?;
    migrate::require(&stack).await?;
    stack.pool(Budget::CLIENT.readers).await
}

/// A job, wherever it is on its way into the read models.
pub(super) async fn find(write: &Write, id: JobId) -> anyhow::Result<Found> {
    let text = id.to_string();
    let job = read::job(&write.pool, &text).await.map_err(unreadable)?;
    if let Some(job) = job {
        return Ok(Found::Job(Box::new(job)));
    }
    let open = write.writer.log.open_job(id).await.map_err(no_log)?;
    if let Some(row) = open {
        return Ok(Found::Waiting(row));
    }
    // It may have ended between the two looks, faster than the read models are.
    let head = read::head(&write.pool).await.map_err(unreadable)?;
    wait_for(&write.pool, head).await?;
    let job = read::job(&write.pool, &text).await.map_err(unreadable)?;
    let job = job.ok_or_else(|| no_job(id))?;
    Ok(Found::Job(Box::new(job)))
}

/// Waits until the read models show what was just written.
pub(super) async fn caught_up(pool: &PgPool, pos: u64) -> anyhow::Result<()> {
    wait_for(pool, i64::try_from(pos).unwrap_or(i64::MAX)).await
}

async fn wait_for(pool: &PgPool, pos: i64) -> anyhow::Result<()> {
    read::wait_for(pool, pos, CATCH_UP)
        .await
        .map_err(unreadable)
}

pub(super) fn no_job(id: JobId) -> anyhow::Error {
    let message = format!("there is no job {id}, or its request was withdrawn");
    Stop::not_found(message, "strata job list")
}

/// Why the read models could not be read, with the exit code that fits.
pub(crate) fn unreadable(error: projections::Error) -> anyhow::Error {
    let message = match std::error::Error::source(&error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    match error {
        projections::Error::Cursor(_) => Stop::usage(message, ""),
        _ => Stop::unreachable(message, "strata doctor"),
    }
}

pub(super) fn no_log(error: LogError) -> anyhow::Error {
    Stop::unreachable(error.to_string(), "strata doctor")
}
