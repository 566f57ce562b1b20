//! `strata archive`: retention of the log. On the database itself, by the owner of its schema.

pub(crate) mod args;
mod make;
mod restore;
pub(crate) mod shelf;

use args::{ArchiveCommand, ListArgs, PlaceArgs, VerifyArgs};
use projections::archive::{self, Archive, ArchiveError};
use serde_json::json;
use shelf::Shelf;

use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, lines_of, one_line};
use crate::roles::migrate;
use crate::roles::stack::Stack;
use crate::{logging, runtime};

/// Connections: for the turn, for the work, and for looking.
const CONNECTIONS: u32 = 4;

pub(crate) fn run(command: &ArchiveCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    runtime::block_on(async |stop| {
        let work = async {
            match command {
                ArchiveCommand::List(args) => list(args, console).await,
                ArchiveCommand::Make(args) => Box::pin(make::run(args, console)).await,
                ArchiveCommand::Verify(args) => verify(args, console).await,
                ArchiveCommand::Restore(args) => Box::pin(restore::run(args, console)).await,
            }
        };
        tokio::select! {
            // Every step can be done again.
            () = stop.cancelled() => Ok(Exit::Interrupted),
            done = work => done,
        }
    })
}

/// The database, with the schema of this build.
async fn open(place: &PlaceArgs) -> anyhow::Result<Stack> {
    logging::init_at_least(&place.log, logging::LogLevel::Warn);
    let stack = Stack::of_database(&place.data_dir)?;
    migrate::require(&stack).await?;
    Ok(stack)
}

async fn list(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let pool = open(&args.place).await?.pool(1).await?;
    let all = archive::list(&pool).await.map_err(failed)?;
    if args.place.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&all)?)?;
        return Ok(Exit::Ok);
    }
    let header = ["POSITIONS", "STATE", "BYTES", "ARCHIVED", "BY", "MANIFEST"];
    let mut table = console.look.table(&header);
    for one in &all {
        table.add_row([
            format!("{} to {}", one.first_pos, one.last_pos),
            state(one).to_owned(),
            one.bytes.to_string(),
            one.archived_at.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
            one_line(&one.archived_by),
            one_line(&format!("{}/{}", one.store, one.manifest)),
        ]);
    }
    console.data(&lines_of(&table))?;
    if all.is_empty() {
        console.talk("nothing is archived")?;
    }
    Ok(Exit::Ok)
}

/// Where the events are, in a word.
fn state(of: &Archive) -> &'static str {
    match (of.restored_at, of.dropped_at) {
        (Some(_), _) => "restored",
        (None, None) => "archived, table kept",
        (None, Some(_)) => "archived",
    }
}

async fn verify(args: &VerifyArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let stack = open(&args.place).await?;
    let pool = stack.pool(CONNECTIONS).await?;
    let shelf = Shelf::open(&stack, &args.files)?;
    let mut ranges = Vec::new();
    for one in shelf::archived(&pool).await? {
        let (manifest, file) = shelf.fetch_archive(&one).await?;
        let checked = archive::check(&pool, &manifest, &file)
            .await
            .map_err(failed)?;
        let (first, last) = (one.first_pos, one.last_pos);
        console.talk(&format!(
            "ok: positions {first} to {last}: {} events, {} batches",
            checked.events, checked.batches
        ))?;
        ranges.push(json!({"first_pos": first, "last_pos": last, "events": checked.events}));
    }
    if args.place.output == Format::Json {
        console.data(&serde_json::to_string_pretty(
            &json!({"ok": true, "archives": ranges}),
        )?)?;
    } else if ranges.is_empty() {
        console.talk("nothing is archived")?;
    }
    Ok(Exit::Ok)
}

/// What could not be done, and what to do about it.
pub(crate) fn failed(error: ArchiveError) -> anyhow::Error {
    let text = crate::audit::chain(&error);
    match error {
        ArchiveError::Changed { .. } | ArchiveError::Manifest(_) | ArchiveError::Parquet(_) => {
            Stop::with(Exit::NotVerified, text, "strata archive verify")
        }
        ArchiveError::NotOwner => Stop::usage(
            text,
            "set STRATA_DATABASE_URL to an address with the role that runs strata migrate",
        ),
        ArchiveError::Busy | ArchiveError::Alive => Stop::conflict(text, "strata archive list"),
        ArchiveError::NotArchived(..) | ArchiveError::NotNewest(_) => {
            Stop::not_found(text, "strata archive list")
        }
        ArchiveError::Read(_) => Stop::unreachable(text, "strata doctor"),
        _ => Stop::failed(text, "strata archive --help"),
    }
}
