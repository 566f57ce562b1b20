//! `strata job submit`.

use domain::id::JobId;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::args::SubmitArgs;
use super::inputs::Given;
use super::watch;
use crate::args::Format;
use crate::client::Client;
use crate::exit::Exit;
use crate::output::Console;

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
    let given = Given::read(&args.inputs, args.inputs_file.as_deref(), "submit")?;
    let client = Client::find(&args.stack)?;
    let workflow = (&*args.workflow, args.workflow_version);
    let inputs = given.resolve(&client, workflow).await?;
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
