//! `strata job fork`: an ended job once more, from the middle.

use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::args::ForkArgs;
use super::control::{GRANTED, Granted, granted, settle};
use super::find::no_job;
use super::inputs::Given;
use super::plan::PLAN;
use super::watch;
use crate::args::Format;
use crate::client::Client;
use crate::exit::Exit;
use crate::output::Console;

pub(super) async fn run(
    args: &ForkArgs,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let given = Given::read(&args.inputs, args.inputs_file.as_deref(), "fork")?;
    let client = Client::find(&args.stack)?;
    let older = older(&client, args).await?;
    let version = u32::try_from(older.workflow_version).ok();
    let inputs = given
        .resolve(&client, (&older.workflow_id, version))
        .await?;
    let document = format!(
        "mutation($id: String!, $at: [String!]!, $inputs: JSON, $key: String, $dryRun: Boolean!) {{ \
             done: forkJob(id: $id, at: $at, inputs: $inputs, idempotencyKey: $key, dryRun: $dryRun) {{ \
                 {GRANTED} plan {{ {PLAN} }} }} }}"
    );
    let variables = json!({
        "id": args.job, "at": args.at, "inputs": inputs, "key": args.key, "dryRun": args.dry_run,
    });
    let granted = granted(&client, &document, variables, args.job).await?;
    if args.dry_run {
        granted.preview(args.output, console)?;
        return Ok(Exit::Ok);
    }
    match args.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&granted.json())?)?,
        Format::Table => granted.say(console)?,
    }
    follow(&client, args, &granted, console, stop).await
}

/// The job to fork, for the types of its inputs.
async fn older(client: &Client, args: &ForkArgs) -> anyhow::Result<Older> {
    let document = "query($id: String!) { job(id: $id) { workflowId workflowVersion } }";
    let answer: Answer = client.ask(document, json!({"id": args.job})).await?;
    answer.job.ok_or_else(|| no_job(args.job))
}

#[derive(Deserialize)]
struct Answer {
    job: Option<Older>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Older {
    workflow_id: String,
    workflow_version: i32,
}

async fn follow(
    client: &Client,
    args: &ForkArgs,
    granted: &Granted,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let made = granted.new_job_id.as_deref().and_then(|id| id.parse().ok());
    let Some(job) = made.filter(|_| args.watch) else {
        settle(client, granted.position).await?;
        return Ok(Exit::Ok);
    };
    let flag = args.stack.flag();
    let followed = watch::follow(client, job, Some(&flag), console, stop);
    let Some(ended) = followed.await? else {
        return Ok(Exit::Interrupted);
    };
    watch::say_end(&ended, &flag, console)?;
    Ok(watch::exit_of(&ended))
}
