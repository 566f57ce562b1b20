//! Steering every job that fits a filter: first how many that is, then to do it.

use std::io::{IsTerminal as _, Read as _};

use serde::Deserialize;
use serde_json::{Value, json};

use super::args::SteerArgs;
use super::control::{GRANTED, Granted, Wish, settle};
use crate::args::Format;
use crate::client::{Client, Fault};
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::validate::count;

/// Longest answer to a question.
const REPLY_BYTES_MAX: u64 = 100;

#[derive(Deserialize)]
struct Answer {
    done: Steered,
}

#[derive(Deserialize)]
struct Steered {
    matched: usize,
    more: bool,
    position: Option<i64>,
    #[serde(default)]
    done: Vec<Granted>,
    #[serde(default)]
    failed: Vec<Failed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Failed {
    job_id: String,
    error: Option<Value>,
}

pub(super) async fn steer(
    client: &Client,
    wish: Wish,
    args: &SteerArgs,
    reason: Option<&str>,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let would = call(client, wish, args, reason, true).await?;
    let more = if would.more { " and more" } else { "" };
    let jobs = format!("{}{more}", count(would.matched, "job"));
    if would.matched > 0 && !args.yes && !agreed(wish, &jobs, console)? {
        let word = wish.word();
        let (filter, flag) = (args.filter.flags(), args.stack.flag());
        let next = format!("strata job {word}{filter} --yes{flag}");
        return Err(Stop::usage(
            format!("nothing was done: {jobs} to {word}"),
            next,
        ));
    }
    let steered = match would.matched {
        0 => would,
        _ => call(client, wish, args, reason, false).await?,
    };
    settle(client, steered.position).await?;
    print(&steered, args.output, console)?;
    if steered.more {
        console.talk(match wish {
            // What was retried still fits.
            Wish::Retry => "more jobs fit than one call takes; narrow the filter, as with --until",
            _ => "more jobs fit than one call takes; run it again for the others",
        })?;
    }
    match steered.failed.first() {
        None => Ok(Exit::Ok),
        Some(first) => {
            let fault = Fault::of_json(first.error.as_ref().unwrap_or(&Value::Null));
            Ok(fault.exit())
        }
    }
}

async fn call(
    client: &Client,
    wish: Wish,
    args: &SteerArgs,
    reason: Option<&str>,
    dry_run: bool,
) -> anyhow::Result<Steered> {
    let document = format!(
        "mutation($wish: Wish!, $filter: JobFilter!, $reason: String, $dryRun: Boolean!) {{ \
             done: steerJobs(wish: $wish, filter: $filter, reason: $reason, dryRun: $dryRun) {{ \
                 matched more position done {{ {GRANTED} }} failed {{ jobId error }} }} }}"
    );
    let variables = json!({
        "wish": wish.word().to_uppercase(), "filter": args.filter.input(),
        "reason": reason, "dryRun": dry_run,
    });
    Ok(client.ask::<Answer>(&document, variables).await?.done)
}

/// Whether a person at a terminal says yes.
fn agreed(wish: Wish, jobs: &str, console: &mut Console<'_>) -> anyhow::Result<bool> {
    if !console.look.live || !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    console.talk(&format!("{} {jobs}? Type yes to go on:", wish.word()))?;
    let mut reply = String::new();
    let mut limited = console.input.take(REPLY_BYTES_MAX);
    // A line at a time: the terminal hands over nothing before its end.
    let mut byte = [0];
    while limited.read(&mut byte)? == 1 && byte != *b"\n" {
        reply.push(byte[0].into());
    }
    Ok(matches!(reply.trim(), "y" | "yes"))
}

fn print(steered: &Steered, format: Format, console: &mut Console<'_>) -> anyhow::Result<()> {
    if format == Format::Json {
        let done: Vec<Value> = steered.done.iter().map(Granted::json).collect();
        let failed = steered.failed.iter();
        let failed: Vec<Value> = failed
            .map(|failed| json!({"job_id": failed.job_id, "error": failed.error}))
            .collect();
        let all = json!({
            "matched": steered.matched, "more": steered.more, "done": done, "failed": failed,
        });
        return Ok(console.data(&serde_json::to_string_pretty(&all)?)?);
    }
    if steered.matched == 0 {
        return Ok(console.talk("no such jobs")?);
    }
    for granted in &steered.done {
        granted.say(console)?;
    }
    for failed in &steered.failed {
        let fault = Fault::of_json(failed.error.as_ref().unwrap_or(&Value::Null));
        console.talk(&format!("error: {}: {}", failed.job_id, fault.message))?;
    }
    Ok(())
}
