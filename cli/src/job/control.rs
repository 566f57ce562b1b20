//! `strata job cancel`, `retry`, `pause`, `resume` and `release`: wishes, with what became of them.

use commands::control::{ControlError, Controlled};
use commands::retry::RetryError;
use domain::id::JobId;
use serde_json::{Value, json};

use super::args::{CancelArgs, JobArgs, PauseArgs};
use super::client::{self, ACTOR, Found};
use super::submit;
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::roles::stack::Write;

pub(super) async fn cancel(args: &CancelArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let write = client::write(&args.stack).await?;
    let mut ended = Ok(Exit::Ok);
    let mut done = Vec::new();
    for job in &args.jobs {
        let cancelled = write.writer.cancel(*job, &args.reason, ACTOR).await;
        match settle(&write, *job, "cancelled", cancelled).await {
            Ok(said) => done.push(said),
            // The others are wished for all the same; the first reason gives the exit code.
            Err(error) if ended.is_ok() => ended = Err(error),
            Err(error) => console.talk(&format!("error: {error:#}"))?,
        }
    }
    write.stop().await;
    match args.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&done)?)?,
        Format::Table => {
            for said in &done {
                say(said, console)?;
            }
        }
    }
    ended
}

pub(super) async fn pause(args: &PauseArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let write = client::write(&args.of.stack).await?;
    let done = write.writer.pause(args.of.job, &args.reason, ACTOR).await;
    let said = settle(&write, args.of.job, "paused", done).await;
    write.stop().await;
    print(&said?, args.of.output, console)
}

pub(super) async fn resume(args: &JobArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let write = client::write(&args.stack).await?;
    let done = write.writer.resume(args.job, ACTOR).await;
    let said = settle(&write, args.job, "resumed", done).await;
    write.stop().await;
    print(&said?, args.output, console)
}

pub(super) async fn retry(args: &JobArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let write = client::write(&args.stack).await?;
    let done = write.writer.retry(args.job, ACTOR).await;
    let before = match &done {
        Ok(again) if again.repeated => client::find(&write, again.job_id).await.map(Some),
        _ => Ok(None),
    };
    write.stop().await;
    let submitted = done.map_err(|error| not_retried(error, args.job))?;
    if let Some(Found::Job(retried)) = before?
        && retried.completed_at.is_some()
    {
        let (job, again) = (args.job, &retried.job_id);
        let message = format!(
            "{job} was retried before, as {again}, which is {}",
            retried.status
        );
        let next = match retried.status.as_str() {
            "COMPLETED" => format!("strata job result {again}"),
            _ => format!("strata job retry {again}"),
        };
        return Err(Stop::conflict(message, next));
    }
    submit::print(&submitted, args.output, console)?;
    Ok(Exit::Ok)
}

pub(super) async fn release(args: &JobArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let write = client::look(&args.stack).await?;
    let released = write.writer.log.release(args.job).await;
    let found = match &released {
        // Told apart: a job that ended, and one that never was.
        Ok(false) => client::find(&write, args.job).await.map(|_| ()),
        _ => Ok(()),
    };
    write.stop().await;
    let released = released.map_err(client::no_log)?;
    found?;
    if !released {
        let message = format!("{} has ended; there is nothing to release", args.job);
        return Err(Stop::conflict(
            message,
            format!("strata job show {}", args.job),
        ));
    }
    let said = json!({"job_id": args.job, "outcome": "released"});
    print(&said, args.output, console)
}

/// Waits until a look would show it.
async fn settle(
    write: &Write,
    job: JobId,
    word: &str,
    done: Result<Controlled, ControlError>,
) -> anyhow::Result<Value> {
    let (outcome, pos) = match done.map_err(|error| refused(error, job))? {
        Controlled::Applied { pos } => (word, Some(pos)),
        Controlled::Withdrawn { pos } => ("withdrawn", Some(pos)),
        Controlled::AlreadyCancelled => ("already cancelled", None),
    };
    if let Some(pos) = pos {
        client::caught_up(&write.pool, pos).await?;
    }
    Ok(json!({"job_id": job, "outcome": outcome, "pos": pos}))
}

fn print(said: &Value, format: Format, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    match format {
        Format::Json => console.data(&serde_json::to_string_pretty(said)?)?,
        Format::Table => say(said, console)?,
    }
    Ok(Exit::Ok)
}

fn say(said: &Value, console: &mut Console<'_>) -> anyhow::Result<()> {
    let text = |name: &str| said.get(name).and_then(Value::as_str).unwrap_or_default();
    console.talk(&format!("{} is {}", text("job_id"), text("outcome")))?;
    Ok(())
}

fn refused(error: ControlError, job: JobId) -> anyhow::Error {
    match error {
        ControlError::NoJob(_) => client::no_job(job),
        ControlError::Ended(_) => {
            Stop::conflict(format!("{job}: {error}"), format!("strata job show {job}"))
        }
        ControlError::NotClaimed | ControlError::Contended => {
            Stop::conflict(format!("{job}: {error}"), "")
        }
        ControlError::Log(_) | ControlError::Append(_) => {
            Stop::unreachable(error.to_string(), "strata doctor")
        }
    }
}

fn not_retried(error: RetryError, job: JobId) -> anyhow::Error {
    match error {
        RetryError::NoJob(_) => client::no_job(job),
        RetryError::NoPlan(_) => {
            Stop::conflict(format!("{job}: {error}"), format!("strata job show {job}"))
        }
        RetryError::Load(_) => Stop::failed(error.to_string(), "strata doctor"),
        RetryError::Submit(error) => submit::refused(error),
        RetryError::Log(error) => client::no_log(error),
    }
}
