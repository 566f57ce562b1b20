//! `strata migrate`: brings the schema of the database up to date.

use commands::migrate::{self, Migrated};

use super::args::MigrateArgs;
use super::stack::Stack;
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::{logging, runtime};

pub(crate) fn run(args: &MigrateArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init(&args.stack.log);
    let stack = Stack::find(&args.stack)?;
    let done = runtime::block_on(|_| async move { up_to_date(&stack).await })?;
    let Migrated { applied, version } = done;
    console.talk(&match applied {
        0 => format!("the schema was up to date, at step {version}"),
        n => format!("{n} steps applied; the schema is at step {version}"),
    })?;
    Ok(Exit::Ok)
}

/// Applies what is missing.
pub(super) async fn up_to_date(stack: &Stack) -> anyhow::Result<Migrated> {
    let connect = stack.database(1)?;
    migrate::run(&connect.options).await.map_err(|error| {
        let message = format!("the schema cannot be brought up to date: {error}");
        Stop::unreachable(message, "strata doctor")
    })
}

/// Refuses to run on a schema of another build.
pub(crate) async fn require(stack: &Stack) -> anyhow::Result<()> {
    let connect = stack.database(1)?;
    match migrate::is_current(&connect.options).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Stop::conflict(
            "the schema of the database is not the one of this build",
            "strata migrate",
        )),
        Err(error) => Err(Stop::unreachable(error.to_string(), "strata doctor")),
    }
}
