//! `strata archive make`: partition by partition, each in steps that a kill between them does not hurt.

use std::time::Duration;

use commands::carry::CarryError;
use projections::archive::{self, Held, Part};
use serde_json::json;
use sqlx::PgPool;

use super::args::MakeArgs;
use super::failed;
use super::shelf::Shelf;
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, one_line};
use crate::roles::budget::Budget;
use crate::roles::stack::{Stack, Write};

/// How long whoever projects may take to come to what was carried.
const PATIENCE: Duration = Duration::from_secs(30);
/// Streams that are named when they stand in the way.
const SHOWN: usize = 20;
/// Who carries streams, in the log.
const BY: &str = "archive";

/// How one partition ended.
enum Done {
    Archived(archive::Checked),
    Held(Vec<Held>, i64),
}

pub(super) async fn run(args: &MakeArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let stack = super::open(&args.place).await?;
    let shelf = Shelf::open(&stack, &args.files)?;
    let write = stack.write(&Budget::ORCHESTRATOR, None).await?;
    let made = all(args, &stack, &shelf, &write, console).await;
    write.stop().await;
    made
}

async fn all(
    args: &MakeArgs,
    stack: &Stack,
    shelf: &Shelf,
    write: &Write,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let pool = stack.pool(super::CONNECTIONS).await?;
    let _turn = archive::turn(&pool).await.map_err(failed)?;
    // What an earlier run has said and not done.
    archive::finish(&pool, false).await.map_err(failed)?;
    let cutoff = archive::cutoff(&pool, args.before.cutoff())
        .await
        .map_err(failed)?;
    let parts = archive::candidates(&pool, cutoff).await.map_err(failed)?;
    let mut ranges = Vec::new();
    let mut held = None;
    for part in &parts {
        let range = format!("positions {} to {}", part.first_pos, part.last_pos);
        match one(&pool, shelf, write, part, cutoff).await? {
            Done::Archived(checked) => {
                console.talk(&format!(
                    "{range} are archived: {} events, {} batches, as they came back from the store",
                    checked.events, checked.batches
                ))?;
                ranges.push(json!({"first_pos": part.first_pos, "last_pos": part.last_pos, "events": checked.events}));
            }
            Done::Held(streams, count) => {
                held = Some((range, streams, count));
                break;
            }
        }
    }
    let dropped = match args.drop {
        true => remove(&pool, shelf).await?,
        false => 0,
    };
    if args.place.output == Format::Json {
        let held = held
            .as_ref()
            .map(|(_, streams, count)| json!({"count": count, "streams": streams}));
        let said = json!({"archived": ranges, "held": held, "dropped": dropped});
        console.data(&serde_json::to_string_pretty(&said)?)?;
    } else if parts.is_empty() {
        console.talk("no partition is wholly older than that; nothing is archived")?;
    }
    match held {
        None => Ok(Exit::Ok),
        Some((range, streams, count)) => Err(in_the_way(&range, &streams, count)),
    }
}

/// One partition, unless something stands in the way.
async fn one(
    pool: &PgPool,
    shelf: &Shelf,
    write: &Write,
    part: &Part,
    cutoff: i64,
) -> anyhow::Result<Done> {
    let mut reached = part.last_pos;
    loop {
        let plan = archive::plan(pool, part, cutoff).await.map_err(failed)?;
        if plan.held_count > 0 {
            return Ok(Done::Held(plan.held, plan.held_count));
        }
        if plan.carry.is_empty() {
            break;
        }
        for stream in &plan.carry {
            let carried = write.writer.carry(stream, BY).await.map_err(uncarried)?;
            reached = reached.max(i64::try_from(carried.pos)?);
        }
        bus::fault::point("archive-carried");
    }
    // Read models are folded from what was carried once the rest is gone, so they must have seen it.
    let behind = archive::wait_for_readers(pool, reached, PATIENCE)
        .await
        .map_err(failed)?;
    if !behind.is_empty() {
        let count = i64::try_from(behind.len())?;
        return Ok(Done::Held(behind, count));
    }
    let made = archive::export(pool, part, shelf.room())
        .await
        .map_err(failed)?;
    bus::fault::point("archive-exported");
    let key = shelf.put(&made).await?;
    let sha256 = domain::json::sha256_hex(&made.manifest.bytes()?);
    let (manifest, file) = shelf.fetch(&key, &sha256).await?;
    let checked = archive::check(pool, &manifest, &file)
        .await
        .map_err(failed)?;
    bus::fault::point("archive-checked");
    let place = (shelf.address(), key);
    let place = (place.0.as_str(), place.1.as_str());
    archive::record(pool, part, &manifest, place, cutoff)
        .await
        .map_err(failed)?;
    bus::fault::point("archive-recorded");
    archive::finish(pool, false).await.map_err(failed)?;
    Ok(Done::Archived(checked))
}

/// Removes the tables of all archives, each of which is looked at once more before.
async fn remove(pool: &PgPool, shelf: &Shelf) -> anyhow::Result<u32> {
    for one in super::shelf::archived(pool).await? {
        if one.dropped_at.is_none() {
            let (manifest, file) = shelf.fetch_archive(&one).await?;
            archive::check(pool, &manifest, &file)
                .await
                .map_err(failed)?;
        }
    }
    archive::finish(pool, true).await.map_err(failed)
}

fn in_the_way(range: &str, held: &[Held], count: i64) -> anyhow::Error {
    let named = held.iter().take(SHOWN);
    let named = named.map(|held| format!("\n  {}: {}", one_line(&held.name), held.why));
    let mut text = format!("{range} stay: {count} in the way");
    text.extend(named);
    if count > i64::try_from(SHOWN).unwrap_or(i64::MAX) {
        text.push_str("\n  and others");
    }
    Stop::conflict(
        text,
        "strata job list --status running; wait until they end, cancel them, or archive an older part",
    )
}

fn uncarried(error: CarryError) -> anyhow::Error {
    match error {
        CarryError::Log(_) | CarryError::Append(_) => {
            Stop::unreachable(error.to_string(), "strata doctor")
        }
        other => Stop::conflict(other.to_string(), "strata archive make --help"),
    }
}
