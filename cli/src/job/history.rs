//! `strata job events` and `strata job result`.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::args::{EventsArgs, ResultArgs};
use super::find::{About, Found};
use super::list::PageInfo;
use crate::args::Format;
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::output::{Console, lines_of};

/// Events of one answer.
const PAGE_MAX: i64 = 200;

/// An event, with the names of the read models for programs.
#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Event {
    #[serde(rename(deserialize = "position"))]
    event_id: i64,
    version: i64,
    #[serde(rename(deserialize = "node"))]
    node_id: Option<String>,
    #[serde(rename(deserialize = "type"))]
    event_type: String,
    #[serde(rename(deserialize = "data"))]
    event_data: Value,
    #[serde(rename(deserialize = "recordedAt"))]
    created_at: DateTime<Utc>,
}

#[derive(Deserialize)]
struct WithEvents {
    events: Events,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Events {
    nodes: Vec<Event>,
    page_info: PageInfo,
}

pub(super) async fn events(args: &EventsArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.of.stack)?;
    let job = args.of.job;
    let (events, more) = read(args, &client).await?;
    if args.of.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&events)?)?;
        return Ok(Exit::Ok);
    }
    let mut table = console.look.table(&["VERSION", "TIME", "EVENT", "NODE"]);
    for event in &events {
        table.add_row([
            event.version.to_string(),
            event.created_at.format("%H:%M:%S%.3f").to_string(),
            event.event_type.clone(),
            event.node_id.clone().unwrap_or_default(),
        ]);
    }
    if !events.is_empty() {
        console.data(&lines_of(&table))?;
    }
    if let (true, Some(last)) = (more, events.last()) {
        let flag = args.of.stack.flag();
        console.talk(&format!(
            "more: strata job events {job} --after {}{flag}",
            last.version
        ))?;
    }
    Ok(Exit::Ok)
}

/// As many as are wanted, and whether there are more.
async fn read(args: &EventsArgs, client: &Client) -> anyhow::Result<(Vec<Event>, bool)> {
    let mut all = Vec::new();
    let mut after = (args.after > 0).then(|| args.after.to_string());
    loop {
        let had = i64::try_from(all.len()).unwrap_or(i64::MAX);
        let about = About {
            job: args.of.job,
            params: ", $first: Int, $after: String",
            fields: "events(first: $first, after: $after) { \
                     nodes { position version node type data recordedAt } \
                     pageInfo { endCursor hasNextPage } }"
                .to_owned(),
            variables: json!({"first": (args.limit - had).min(PAGE_MAX), "after": after}),
        };
        let events = match about.ask::<WithEvents>(client).await? {
            Found::Job(WithEvents { events }, _) => events,
            Found::Waiting(_) => return Ok((all, false)),
        };
        all.extend(events.nodes);
        after = events.page_info.next();
        let enough = i64::try_from(all.len()).is_ok_and(|count| count >= args.limit);
        if enough || after.is_none() {
            return Ok((all, after.is_some()));
        }
    }
}

#[derive(Deserialize)]
struct WithResult {
    status: String,
    result: Option<Value>,
}

pub(super) async fn result(args: &ResultArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.stack)?;
    let job = args.job;
    let found = About::plain(job, "status result").ask(&client).await?;
    let (status, result) = match found {
        Found::Job(WithResult { status, result }, _) => (status, result),
        Found::Waiting(_) => ("WAITING".to_owned(), None),
    };
    let result = result.ok_or_else(|| {
        let next = match status.as_str() {
            "FAILED" => format!("strata job logs {job} --failed"),
            "CANCELLED" => format!("strata job show {job}"),
            _ => format!("strata job watch {job}"),
        };
        Stop::conflict(format!("{job} has no result: it is {status}"), next)
    })?;
    console.data(&serde_json::to_string_pretty(&result)?)?;
    Ok(Exit::Ok)
}
