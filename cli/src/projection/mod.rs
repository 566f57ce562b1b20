//! `strata projection`: looks after what is derived from the log. On the database itself, so that it works while no API
//! runs; without NATS, so that nothing can be sent.

pub(crate) mod args;
mod bar;
mod rebuild;

use std::time::Duration;

use args::{PlaceArgs, ProjectionCommand};
use projections::read::{self, Projection, Rebuild};
use projections::rebuild::{self as rebuilding, RebuildError};
use serde_json::json;
use sqlx::PgPool;

use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, lines_of};
use crate::roles::migrate;
use crate::roles::stack::Stack;
use crate::{logging, runtime};

/// Connections for looking, and for signs of life.
const CONNECTIONS: u32 = 2;
/// How long whoever rebuilds may take to stop.
const STOPS_IN: Duration = Duration::from_secs(20);

pub(crate) fn run(command: &ProjectionCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    runtime::block_on(|stop| async move {
        match command {
            ProjectionCommand::List(args) => list(args, console).await,
            ProjectionCommand::Rebuild(args) => rebuild::run(args, console, stop).await,
            ProjectionCommand::Cancel(args) => cancel(args, console).await,
        }
    })
}

/// The database, with the schema of this build.
async fn open(place: &PlaceArgs) -> anyhow::Result<PgPool> {
    logging::init_at_least(&place.log, logging::LogLevel::Warn);
    let stack = Stack::of_database(&place.data_dir)?;
    // Asked once and at once: a pool would try again for ten seconds.
    migrate::require(&stack).await?;
    stack.pool(CONNECTIONS).await
}

async fn list(args: &PlaceArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let pool = open(args).await?;
    let all = read::projections(&pool).await.map_err(unreadable)?;
    if args.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&all)?)?;
        return Ok(Exit::Ok);
    }
    let header = [
        "NAME", "VERSION", "POSITION", "LAG", "PARKED", "LEADER", "REBUILD",
    ];
    let mut table = console.look.table(&header);
    for each in &all {
        table.add_row([
            each.name.clone(),
            each.version.to_string(),
            each.position.to_string(),
            each.lag.to_string(),
            each.parked.to_string(),
            each.leader
                .map_or_else(|| "nobody".to_owned(), |id| id.to_string()),
            each.rebuild
                .as_ref()
                .map_or_else(|| "none".to_owned(), |one| state(each, one)),
        ]);
    }
    console.data(&lines_of(&table))?;
    if all.is_empty() {
        console.talk("no projector has run yet")?;
    }
    Ok(Exit::Ok)
}

/// Where a rebuild is, in a few words.
fn state(of: &Projection, rebuild: &Rebuild) -> String {
    let mut text = rebuild.phase.clone();
    if rebuild.version != of.version {
        text.push_str(&format!(" of version {}", rebuild.version));
    }
    match (rebuild.phase.as_str(), rebuild.events_per_s) {
        ("fill", Some(rate)) => {
            let left = rebuild.seconds_left.unwrap_or_default();
            let (position, upto) = (rebuild.position, rebuild.upto);
            text.push_str(&format!(
                " {position} of {upto}, {rate:.0}/s, {left:.0} s left"
            ));
        }
        ("follow" | "compare", _) => text.push_str(&format!(" at {}", rebuild.position)),
        _ => {}
    }
    if !rebuild.is_led {
        text.push_str(", left; rebuild again to go on");
    }
    text
}

async fn cancel(args: &PlaceArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let pool = open(args).await?;
    let found = rebuilding::cancel(&pool, STOPS_IN)
        .await
        .map_err(|error| match error {
            RebuildError::Busy => Stop::conflict(
                "whoever rebuilds does not stop",
                format!("strata projection list{}", args.flag()),
            ),
            other => failed(&other, args),
        })?;
    match args.output {
        Format::Json => console.data(&json!({"cancelled": found}).to_string())?,
        Format::Table => console.talk(match found {
            true => "the rebuild is stopped, and what it had made is gone",
            false => "there is no rebuild under way",
        })?,
    }
    Ok(Exit::Ok)
}

fn unreadable(error: projections::Error) -> anyhow::Error {
    Stop::unreachable(anyhow::Error::new(error).to_string(), "strata doctor")
}

/// A rebuild that could not be done.
fn failed(error: &RebuildError, place: &PlaceArgs) -> anyhow::Error {
    let (text, flag) = (error.chain(), place.flag());
    match error {
        RebuildError::Busy => Stop::conflict(text, format!("strata projection list{flag}")),
        RebuildError::Newer(_) => Stop::conflict(text, "run the build that fits"),
        RebuildError::Read(projections::Error::Archived(_)) => Stop::conflict(
            text,
            format!("strata archive restore 1{flag}, then rebuild, and archive again"),
        ),
        RebuildError::Read(_) => Stop::unreachable(
            text,
            format!("strata projection rebuild --all{flag}, which goes on"),
        ),
        _ => Stop::failed(text, format!("strata projection list{flag}")),
    }
}
