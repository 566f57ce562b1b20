//! `strata job events` and `strata job result`.

use projections::read;

use super::args::{EventsArgs, ResultArgs};
use super::client::{self, Found};
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, lines_of};

pub(super) async fn events(args: &EventsArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let write = client::look(&args.of.stack).await?;
    let found = client::find(&write, args.of.job).await;
    let job = args.of.job.to_string();
    let events = read::job_events(&write.pool, &job, args.after, args.limit).await;
    write.stop().await;
    found?;
    let events = events.map_err(client::unreadable)?;
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
    let full = i64::try_from(events.len()).is_ok_and(|count| count == args.limit);
    if let (true, Some(last)) = (full, events.last()) {
        console.talk(&format!(
            "more: strata job events {job} --after {}",
            last.version
        ))?;
    }
    Ok(Exit::Ok)
}

pub(super) async fn result(args: &ResultArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let write = client::look(&args.stack).await?;
    let found = client::find(&write, args.job).await;
    write.stop().await;
    let job = args.job;
    let (status, result) = match found? {
        Found::Job(shown) => (shown.status, shown.result),
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
