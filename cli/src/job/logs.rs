//! `strata job logs`: what attempts wrote.

use domain::id::JobId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::LogsArgs;
use super::find::{About, Found};
use super::list::PageInfo;
use crate::args::Format;
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint, one_line};

/// Attempts of one answer; each may bring a megabyte.
const PAGE: usize = 25;
/// Attempts that are shown at most.
const SHOWN_MAX: usize = 1_000;
/// The server hands out the last lines of an attempt, and no more than so many.
const LINES_MAX: usize = 1_000;

const ATTEMPTS: &str = "attempts(node: $node, failed: $failed, first: $first, after: $after) { \
     nodes { taskId nodeId number status failure errorMessage logs { time level message } } \
     pageInfo { endCursor hasNextPage } }";

#[derive(Deserialize)]
struct WithAttempts {
    attempts: Attempts,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attempts {
    nodes: Vec<Attempt>,
    page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attempt {
    task_id: String,
    node_id: String,
    number: i32,
    status: String,
    failure: Option<Value>,
    error_message: Option<String>,
    logs: Vec<Line>,
}

#[derive(Deserialize, serde::Serialize)]
struct Line {
    time: Option<String>,
    level: Option<String>,
    message: String,
}

pub(super) async fn run(args: &LogsArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.of.stack)?;
    let job = args.of.job;
    let mut all = Vec::new();
    let (mut count, mut after) = (0, None);
    loop {
        let (attempts, next) = read(args, &client, after.as_deref()).await?;
        count += attempts.len();
        for attempt in &attempts {
            match args.of.output {
                Format::Json => all.push(json_of(attempt)),
                // At once: together the logs of a large job do not fit into memory.
                Format::Table => print(attempt, console)?,
            }
        }
        after = next;
        if after.is_none() || count >= SHOWN_MAX {
            break;
        }
    }
    if args.of.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&all)?)?;
    } else if count == 0 {
        if let Some(node) = &args.node {
            known(&client, job, node).await?;
        }
        console.talk("there is no such attempt yet")?;
    }
    if after.is_some() {
        console.talk(&format!(
            "only the first {count} attempts are shown; name a node for the others"
        ))?;
    }
    Ok(Exit::Ok)
}

/// Some attempts, and where the next ones begin.
async fn read(
    args: &LogsArgs,
    client: &Client,
    after: Option<&str>,
) -> anyhow::Result<(Vec<Attempt>, Option<String>)> {
    let about = About {
        job: args.of.job,
        params: ", $node: String, $failed: Boolean!, $first: Int, $after: String",
        fields: ATTEMPTS.to_owned(),
        variables: json!({
            "node": args.node, "failed": args.failed, "first": PAGE, "after": after,
        }),
    };
    Ok(match about.ask::<WithAttempts>(client).await? {
        Found::Job(WithAttempts { attempts }, _) => (attempts.nodes, attempts.page_info.next()),
        Found::Waiting(_) => (Vec::new(), None),
    })
}

/// A node without attempts, and none at all, are two things.
async fn known(client: &Client, job: JobId, node: &str) -> anyhow::Result<()> {
    let about = About {
        job,
        params: ", $node: String!",
        fields: "node(id: $node) { id }".to_owned(),
        variables: json!({"node": node}),
    };
    match about.ask::<Value>(client).await? {
        Found::Job(found, _) if found["node"].is_null() => {
            let message = format!("{job} has no node `{node}`");
            Err(Stop::not_found(message, format!("strata job show {job}")))
        }
        _ => Ok(()),
    }
}

fn json_of(attempt: &Attempt) -> Value {
    json!({
        "task_id": attempt.task_id, "node_id": attempt.node_id, "attempt": attempt.number,
        "status": attempt.status, "failure": attempt.failure, "lines": attempt.logs,
    })
}

fn print(attempt: &Attempt, console: &mut Console<'_>) -> anyhow::Result<()> {
    let title = format!(
        "{} attempt {}: {}",
        attempt.node_id, attempt.number, attempt.status
    );
    console.data(&console.look.paint(Paint::Strong, &title))?;
    if attempt.logs.len() >= LINES_MAX {
        console.data(&format!("  (the last {LINES_MAX} lines)"))?;
    }
    for line in &attempt.logs {
        let text = format!(
            "  {} {:<5} {}",
            line.time.as_deref().unwrap_or_default(),
            line.level.as_deref().unwrap_or_default(),
            one_line(&line.message)
        );
        console.data(&text)?;
    }
    if let Some(message) = &attempt.error_message {
        console.data(&format!("  failed: {}", one_line(message)))?;
    } else if attempt.logs.is_empty() {
        console.data("  (nothing was logged)")?;
    }
    Ok(())
}
