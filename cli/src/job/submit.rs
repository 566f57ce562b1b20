//! `strata job submit`.

use std::collections::BTreeSet;
use std::time::Duration;

use commands::submit::{Order, SubmitError, Submitted};
use commands::write::Writer;
use domain::priority::Priority;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::args::SubmitArgs;
use super::client::{self, ACTOR, ORG};
use super::watch;
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::roles::stack::Write;
use crate::source;

/// How long NATS may take to take the wake-up before that is worth a word.
const NATS_WAIT: Duration = Duration::from_secs(1);

pub(super) async fn run(
    args: &SubmitArgs,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let write = client::write(&args.stack).await?;
    let ended = submit(args, &write, console, stop).await;
    write.stop().await;
    ended
}

async fn submit(
    args: &SubmitArgs,
    write: &Write,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let order = order(args, &write.writer).await?;
    let submitted = write.writer.submit(order).await.map_err(refused)?;
    print(&submitted, args.output, console)?;
    if let Some(bus) = &write.writer.bus
        && tokio::time::timeout(NATS_WAIT, bus.client.flush())
            .await
            .is_err()
    {
        console.talk(
            "NATS does not answer; the request is in the log, and is found when it is back",
        )?;
    }
    if !args.watch {
        return Ok(Exit::Ok);
    }
    let flag = args.stack.flag();
    let followed = watch::follow(write, submitted.job_id, Some(&flag), console, stop);
    let Some(ended) = followed.await? else {
        return Ok(Exit::Interrupted);
    };
    watch::say_end(&ended, &flag, console)?;
    Ok(watch::exit_of(&ended))
}

/// The ids of a request and its job.
pub(super) fn print(
    submitted: &Submitted,
    format: Format,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    match format {
        Format::Json => console.data(&serde_json::to_string_pretty(&json!({
            "request_id": submitted.request_id,
            "job_id": submitted.job_id,
            "asset_id": submitted.asset_id,
            "pos": submitted.pos,
            "repeated": submitted.repeated,
        }))?)?,
        Format::Table => {
            console.data(&submitted.job_id.to_string())?;
            let again = if submitted.repeated {
                " (the same was submitted before)"
            } else {
                ""
            };
            console.talk(&format!("request {}{again}", submitted.request_id))?;
        }
    }
    Ok(())
}

async fn order(args: &SubmitArgs, writer: &Writer) -> anyhow::Result<Order> {
    let mut given = match &args.inputs_file {
        Some(path) => source::json_object(path)?,
        None => Map::new(),
    };
    let definition = writer
        .definitions
        .find(&args.workflow, args.workflow_version)
        .await;
    let definition = definition.map_err(|error| refused(SubmitError::Workflow(error)))?;
    let mut seen = BTreeSet::new();
    for text in &args.inputs {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            let message = format!("--input {text}: write NAME=VALUE");
            Stop::usage(message, "strata job submit --help")
        })?;
        if !seen.insert(name) {
            let message = format!("--input {name} is given twice");
            return Err(Stop::usage(message, "strata job submit --help"));
        }
        let kind = definition.workflow.inputs.get(name).map(|input| input.kind);
        given.insert(name.to_owned(), source::value_of(value, kind));
    }
    Ok(Order {
        workflow_version: args.workflow_version,
        inputs: given,
        priority: args.priority.as_deref().map(priority),
        idempotency_key: args.key.clone(),
        ..plain_order(&args.workflow)
    })
}

/// A workflow with its defaults, for a person at this machine.
pub(crate) fn plain_order(workflow: &str) -> Order {
    Order {
        org_id: ORG.to_owned(),
        actor: ACTOR.to_owned(),
        platform_id: "strata".to_owned(),
        refs: domain::platform::Refs::default(),
        workflow_id: workflow.to_owned(),
        workflow_version: None,
        inputs: Map::new(),
        priority: None,
        callbacks: Vec::new(),
        retry_of: None,
        idempotency_key: None,
        trace: None,
    }
}

fn priority(word: &str) -> Priority {
    serde_json::from_value(Value::from(word)).unwrap_or_default()
}

/// Why a request was not accepted, with the exit code that fits.
pub(crate) fn refused(error: SubmitError) -> anyhow::Error {
    let message = error.to_string();
    match error {
        SubmitError::Workflow(commands::definitions::NoDefinition::Log(_))
        | SubmitError::Log(_)
        | SubmitError::Append(_) => Stop::unreachable(message, "strata doctor"),
        SubmitError::Workflow(_) => Stop::not_found(message, "strata workflow list --registered"),
        SubmitError::Rejected(domain::request::Rejection::Conflict { .. })
        | SubmitError::Contended => Stop::conflict(message, ""),
        SubmitError::Inputs(_) => Stop::usage(message, ""),
        _ => Stop::usage(message, "strata job submit --help"),
    }
}
