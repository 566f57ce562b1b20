//! `strata job submit`.

use std::collections::{BTreeMap, BTreeSet};

use domain::definition::model::ValueType;
use domain::id::JobId;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::args::SubmitArgs;
use super::watch;
use crate::args::Format;
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::source;

const SUBMIT: &str = "mutation($input: SubmitInput!) { \
     submitJob(input: $input) { requestId jobId assetId position repeated } }";

/// A request that is in the log.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Submitted {
    request_id: String,
    pub(crate) job_id: JobId,
    asset_id: Option<String>,
    position: i64,
    repeated: bool,
}

pub(super) async fn run(
    args: &SubmitArgs,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let given = given(args)?;
    let client = Client::find(&args.stack)?;
    let inputs = inputs(args, given, &client).await?;
    let submitted = submit(
        &client,
        json!({
            "workflow": args.workflow,
            "version": args.workflow_version,
            "inputs": inputs,
            "priority": args.priority.as_ref().map(|word| word.to_uppercase()),
            "idempotencyKey": args.key,
        }),
    );
    let submitted = submitted.await?;
    print(&submitted, args.output, console)?;
    if !args.watch {
        return Ok(Exit::Ok);
    }
    let flag = args.stack.flag();
    let followed = watch::follow(&client, submitted.job_id, Some(&flag), console, stop);
    let Some(ended) = followed.await? else {
        return Ok(Exit::Interrupted);
    };
    watch::say_end(&ended, &flag, console)?;
    Ok(watch::exit_of(&ended))
}

/// Asks for work; the input is that of the API.
pub(crate) async fn submit(client: &Client, input: Value) -> anyhow::Result<Submitted> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        submit_job: Submitted,
    }
    let answer: Answer = client.ask(SUBMIT, json!({"input": input})).await?;
    Ok(answer.submit_job)
}

/// The ids of a request and its job.
fn print(submitted: &Submitted, format: Format, console: &mut Console<'_>) -> anyhow::Result<()> {
    match format {
        Format::Json => Ok(console.data(&serde_json::to_string_pretty(&json!({
            "request_id": submitted.request_id,
            "job_id": submitted.job_id,
            "asset_id": submitted.asset_id,
            "pos": submitted.position,
            "repeated": submitted.repeated,
        }))?)?),
        Format::Table => {
            let job = submitted.job_id.to_string();
            say(&job, &submitted.request_id, submitted.repeated, console)
        }
    }
}

/// The id of the job for programs, the rest for people.
pub(super) fn say(
    job: &str,
    request: &str,
    repeated: bool,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    console.data(job)?;
    let again = if repeated {
        " (the same was submitted before)"
    } else {
        ""
    };
    Ok(console.talk(&format!("request {request}{again}"))?)
}

/// The inputs as they were typed, by name.
fn given(args: &SubmitArgs) -> anyhow::Result<Vec<(&str, &str)>> {
    let mut seen = BTreeSet::new();
    let mut given = Vec::new();
    for text in &args.inputs {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            let message = format!("--input {text}: write NAME=VALUE");
            Stop::usage(message, "strata job submit --help")
        })?;
        if !seen.insert(name) {
            let message = format!("--input {name} is given twice");
            return Err(Stop::usage(message, "strata job submit --help"));
        }
        given.push((name, value));
    }
    Ok(given)
}

/// The inputs of the file and of the command line, as the workflow declares them.
async fn inputs(
    args: &SubmitArgs,
    given: Vec<(&str, &str)>,
    client: &Client,
) -> anyhow::Result<Map<String, Value>> {
    let mut inputs = match &args.inputs_file {
        Some(path) => source::json_object(path)?,
        None => Map::new(),
    };
    if given.is_empty() {
        return Ok(inputs);
    }
    let kinds = kinds(args, client).await?;
    for (name, value) in given {
        let kind = kinds.get(name).copied();
        inputs.insert(name.to_owned(), source::value_of(value, kind));
    }
    Ok(inputs)
}

/// The types of the workflow's inputs; none if there is no such workflow, which the server will say.
async fn kinds(args: &SubmitArgs, client: &Client) -> anyhow::Result<BTreeMap<String, ValueType>> {
    #[derive(Deserialize)]
    struct Answer {
        workflow: Option<Version>,
    }
    #[derive(Deserialize)]
    struct Version {
        inputs: BTreeMap<String, Input>,
    }
    #[derive(Deserialize)]
    struct Input {
        #[serde(rename = "type")]
        kind: ValueType,
    }
    let document =
        "query($id: String!, $version: Int) { workflow(id: $id, version: $version) { inputs } }";
    let variables = json!({"id": args.workflow, "version": args.workflow_version});
    let answer: Answer = client.ask(document, variables).await?;
    let inputs = answer
        .workflow
        .map(|version| version.inputs)
        .unwrap_or_default();
    Ok(inputs
        .into_iter()
        .map(|(name, input)| (name, input.kind))
        .collect())
}
