//! `strata demo`: everything from nothing to a result, in front of the reader's eyes.
//!
//! It starts what `strata up` starts, or uses what runs on the data directory, and leaves nothing
//! running that was not running before.

use std::path::PathBuf;

use clap::Parser;
use serde_json::{Value, json};
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
use crate::services::{Context, from_env};

/// The workflow that is shown where there is no data.
const WORKFLOW: &str = "tour";
/// A folder with this raster and this layer.
const DATA: &str = "STRATA_GEO_DATA";
const RASTER: &str = "L7_ETMs.tif";
const COUNTRIES: &str = "naturalearth_lowres.shp";

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

/// A job that is shown: its workflow, what it is given, and a step worth a question.
struct Shown {
    workflow: &'static str,
    inputs: Value,
    step: &'static str,
}

async fn tour(
    args: &DemoArgs,
    // Whether the stack goes on after it.
    goes_on: bool,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let client = Client::of_dir(&args.data_dir, None)?;
    let dir = data_dir_flag(&args.data_dir);
    let flag = goes_on.then_some(dir.as_str());
    let (mut exit, mut looks) = (Exit::Ok, String::new());
    for shown in shown(args, console)? {
        let wanted = json!({"workflow": shown.workflow, "inputs": shown.inputs});
        let submitted = submit::submit(&client, wanted).await;
        let job = submitted
            .map_err(|error| not_shipped(error, shown.workflow))?
            .job_id;
        let Some(ended) = watch::follow(&client, job, flag, console, stop).await? else {
            return Ok(Exit::Interrupted);
        };
        watch::say_how(&ended, console)?;
        if let Some(result) = ended.result() {
            console.data(&serde_json::to_string_pretty(result)?)?;
        }
        looks = format!(
            "\n  strata job show {job}{dir}\n  strata job events {job}{dir}\n  \
             strata job why {job} {step}{dir}",
            step = shown.step
        );
        exit = watch::exit_of(&ended);
        if exit != Exit::Ok {
            break;
        }
    }
    let up = match goes_on {
        true => String::new(),
        false => format!("\n  strata up{dir}      # in another terminal"),
    };
    console.talk(&format!(
        "\nEverything that happened is in the log. Look at it:{up}{looks}"
    ))?;
    if exit == Exit::Ok && has_catalog(args)? {
        let silver = args.data_dir.join("silver/demo");
        let database = format!("$(strata doctor --output json{dir} | jq -r .database_url)");
        console.talk(&format!(
            "The raster lies below {}. Table and catalog, while Strata runs:\n  \
             psql {database} -c 'select name, ST_Area(geom) from geo.demo_countries limit 5'\n  \
             psql {database} -c 'select id, collection from pgstac.items'",
            silver.display()
        ))?;
    }
    Ok(exit)
}

/// Real data if it is at hand, with a catalog to put it into; else the tour of the language.
fn shown(args: &DemoArgs, console: &mut Console<'_>) -> anyhow::Result<Vec<Shown>> {
    let data = from_env(DATA).map(PathBuf::from);
    let data = data.filter(|folder| folder.join(RASTER).exists());
    let Some(data) = data.filter(|_| has_catalog(args).unwrap_or(false)) else {
        return Ok(vec![Shown {
            workflow: WORKFLOW,
            inputs: json!({}),
            step: "prepare_large",
        }]);
    };
    console.talk(
        "A Landsat image becomes a Cloud-Optimized GeoTIFF in the catalog, and a map of countries a table.",
    )?;
    let bronze = args.data_dir.join("bronze/demo");
    std::fs::create_dir_all(&bronze)?;
    for entry in std::fs::read_dir(&data)? {
        let entry = entry?;
        std::fs::copy(entry.path(), bronze.join(entry.file_name()))?;
    }
    Ok(vec![
        Shown {
            workflow: "raster_processing",
            inputs: json!({"container_name": "demo", "blob_name": RASTER, "title": "Landsat 7"}),
            step: "process_fa",
        },
        Shown {
            workflow: "vector_ingest",
            inputs: json!({
                "container_name": "demo", "blob_name": COUNTRIES, "table_name": "demo_countries",
            }),
            step: "load",
        },
    ])
}

/// Whether the stack that runs has a catalog, and tiers of this data directory.
fn has_catalog(args: &DemoArgs) -> anyhow::Result<bool> {
    let noted = Context::read(&args.data_dir)?;
    Ok(noted.is_some_and(|noted| noted.catalog_url.is_some())
        && from_env("STRATA_BRONZE").is_none())
}

/// The stack that runs may be of a build that did not ship the workflow.
fn not_shipped(error: anyhow::Error, workflow: &str) -> anyhow::Error {
    if !is_code(&error, "UNKNOWN_WORKFLOW") {
        return error;
    }
    let message = format!(
        "the stack that runs is of another build, or of other workflows: it has no `{workflow}`"
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
