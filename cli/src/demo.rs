//! `strata demo`: everything from nothing to a result, in front of the reader's eyes.
//!
//! It starts what `strata up` starts, or uses what runs on the data directory, and leaves nothing
//! running that was not running before.

use clap::Parser;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::args::{Cli, Command, DemoArgs};
use crate::client::{Client, is_code};
use crate::exit::{Exit, Stop};
use crate::job::{submit, watch};
use crate::logging::{self, LogLevel};
use crate::output::Console;
use crate::roles::args::{UpArgs, data_dir_flag};
use crate::roles::{Running, start};
use crate::runtime;

/// The workflow that is shown.
const WORKFLOW: &str = "tour";

pub(crate) fn run(args: &DemoArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init_at_least(&args.log, LogLevel::Warn);
    let up = up_args(args)?;
    runtime::block_on(|stop| async move {
        let dir = args.data_dir.display();
        console.talk(&format!("Starting Strata on {dir} ..."))?;
        match Box::pin(start(&up, &stop)).await {
            Ok(running) => with(running, args, console, &stop).await,
            Err(_) if stop.is_cancelled() => Ok(Exit::Interrupted),
            Err(error) if is_taken(&error) => {
                console.talk("It runs there already; that one is used.")?;
                tour(args, true, console, &stop).await
            }
            Err(error) => Err(error),
        }
    })
}

async fn with(
    running: Running,
    args: &DemoArgs,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let ended = tokio::select! {
        ended = tour(args, false, console, stop) => ended,
        error = running.failure() => Err(error),
    };
    running.stop().await;
    ended
}

async fn tour(
    args: &DemoArgs,
    // Whether the stack goes on after it.
    goes_on: bool,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let client = Client::of_dir(&args.data_dir, None)?;
    let submitted = submit::submit(&client, json!({"workflow": WORKFLOW})).await;
    let job = submitted.map_err(not_shipped)?.job_id;
    let dir = data_dir_flag(&args.data_dir);
    let flag = goes_on.then_some(dir.as_str());
    let Some(ended) = watch::follow(&client, job, flag, console, stop).await? else {
        return Ok(Exit::Interrupted);
    };
    watch::say_how(&ended, console)?;
    if let Some(result) = ended.result() {
        console.data(&serde_json::to_string_pretty(result)?)?;
    }
    let up = match goes_on {
        true => String::new(),
        false => format!("\n  strata up{dir}      # in another terminal"),
    };
    console.talk(&format!(
        "\nEverything that happened is in the log. Look at it:{up}\n  \
         strata job show {job}{dir}\n  \
         strata job events {job}{dir}\n  \
         strata job why {job} prepare_large{dir}"
    ))?;
    Ok(watch::exit_of(&ended))
}

/// The stack that runs may be of a build that did not ship the workflow.
fn not_shipped(error: anyhow::Error) -> anyhow::Error {
    if !is_code(&error, "UNKNOWN_WORKFLOW") {
        return error;
    }
    let message = format!(
        "the stack that runs is of another build, or of other workflows: it has no `{WORKFLOW}`"
    );
    Stop::not_found(message, "stop it and try again, or give another --data-dir")
}

/// What `strata up` would do with no more than the data directory.
fn up_args(args: &DemoArgs) -> anyhow::Result<UpArgs> {
    let Command::Up(mut up) = Cli::try_parse_from(["strata", "up"])?.command else {
        anyhow::bail!("`strata up` is not `strata up`, which is a fault of Strata");
    };
    up.stack.data_dir.clone_from(&args.data_dir);
    up.stack.log = args.log.clone();
    Ok(*up)
}

fn is_taken(error: &anyhow::Error) -> bool {
    let stop = error.downcast_ref::<Stop>();
    stop.is_some_and(|stop| stop.exit == Exit::Conflict)
}
