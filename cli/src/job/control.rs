//! `strata job cancel`, `retry`, `pause`, `resume` and `release`: wishes, with what became of them.

use domain::id::JobId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::{CancelArgs, JobArgs, PauseArgs, RetryArgs, SteerArgs};
use super::find::{About, Found, no_job};
use super::plan::{PLAN, Plan};
use super::{bulk, submit};
use crate::args::Format;
use crate::client::{Client, is_code};
use crate::exit::{Exit, Stop};
use crate::output::Console;

/// What may be wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Cancel,
    Retry,
    Pause,
    Resume,
}

/// Fields of a [`Granted`].
pub(super) const GRANTED: &str = "jobId outcome position newJobId newRequestId repeated";

/// What became of a wish.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Granted {
    pub(super) job_id: String,
    outcome: String,
    pub(super) position: Option<i64>,
    pub(super) new_job_id: Option<String>,
    new_request_id: Option<String>,
    repeated: bool,
    #[serde(default)]
    plan: Option<Plan>,
}

pub(super) async fn cancel(args: &CancelArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    steer(Wish::Cancel, &args.of, Some(&args.reason), console).await
}

pub(super) async fn pause(args: &PauseArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    steer(Wish::Pause, &args.of, Some(&args.reason), console).await
}

pub(super) async fn resume(args: &SteerArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    steer(Wish::Resume, args, None, console).await
}

pub(super) async fn retry(args: &RetryArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    if !args.dry_run {
        return steer(Wish::Retry, &args.of, None, console).await;
    }
    let args = &args.of;
    if args.jobs.is_empty() {
        let message = "a dry run of which jobs? Name them";
        return Err(Stop::usage(message, "strata job retry --help"));
    }
    let client = Client::find(&args.stack)?;
    let document = format!(
        "mutation($id: String!) {{ done: retryJob(id: $id, dryRun: true) {{ {GRANTED} plan {{ {PLAN} }} }} }}"
    );
    for job in &args.jobs {
        let granted = granted(&client, &document, json!({"id": job}), *job).await?;
        granted.preview(args.output, console)?;
    }
    Ok(Exit::Ok)
}

async fn steer(
    wish: Wish,
    args: &SteerArgs,
    reason: Option<&str>,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let word = wish.word();
    if args.jobs.is_empty() && args.filter.is_empty() {
        let message = format!("{word} which jobs? Name them, or give a filter");
        return Err(Stop::usage(message, format!("strata job {word} --help")));
    }
    let client = Client::find(&args.stack)?;
    if args.jobs.is_empty() {
        return bulk::steer(&client, wish, args, reason, console).await;
    }
    let mut ended = Ok(Exit::Ok);
    let mut done = Vec::new();
    for job in &args.jobs {
        match one(&client, wish, *job, reason).await {
            Ok(granted) => done.push(granted),
            // The others are wished for all the same; the first reason gives the exit code.
            Err(error) if ended.is_ok() => ended = Err(error),
            Err(error) => console.talk(&format!("error: {error:#}"))?,
        }
    }
    match (args.output, &done[..]) {
        (Format::Json, []) if args.jobs.len() == 1 => {}
        // One wish, one answer; that of `cancel` was always a list.
        (Format::Json, [one]) if args.jobs.len() == 1 && wish != Wish::Cancel => {
            console.data(&serde_json::to_string_pretty(&one.json())?)?;
        }
        (Format::Json, _) => {
            let all: Vec<Value> = done.iter().map(Granted::json).collect();
            console.data(&serde_json::to_string_pretty(&all)?)?;
        }
        (Format::Table, _) => {
            for granted in &done {
                granted.say(console)?;
            }
        }
    }
    ended
}

/// Wishes, and waits until a look would show it.
async fn one(
    client: &Client,
    wish: Wish,
    job: JobId,
    reason: Option<&str>,
) -> anyhow::Result<Granted> {
    let (params, args) = match reason {
        Some(_) => (", $reason: String", ", reason: $reason"),
        None => ("", ""),
    };
    let document = format!(
        "mutation($id: String!{params}) {{ done: {}Job(id: $id{args}) {{ {GRANTED} }} }}",
        wish.word()
    );
    let variables = json!({"id": job.to_string(), "reason": reason});
    let granted = granted(client, &document, variables, job).await?;
    if wish == Wish::Retry {
        refuse_stale(client, job, &granted).await?;
    } else {
        settle(client, granted.position).await?;
    }
    Ok(granted)
}

pub(super) async fn release(args: &JobArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.stack)?;
    let document =
        format!("mutation($id: String!) {{ done: releaseJob(id: $id) {{ {GRANTED} }} }}");
    let variables = json!({"id": args.job.to_string()});
    let granted = granted(&client, &document, variables, args.job).await?;
    match args.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&granted.json())?)?,
        Format::Table => granted.say(console)?,
    }
    Ok(Exit::Ok)
}

#[derive(Deserialize)]
struct Done {
    done: Granted,
}

pub(super) async fn granted(
    client: &Client,
    document: &str,
    variables: Value,
    job: JobId,
) -> anyhow::Result<Granted> {
    let asked = client.ask::<Done>(document, variables).await;
    asked.map(|answer| answer.done).map_err(|error| {
        if is_code(&error, "NOT_FOUND") {
            return no_job(job);
        }
        match error.downcast::<Stop>() {
            Ok(stop) if stop.exit == Exit::Conflict => {
                let message = format!("{job}: {}", stop.message);
                Stop::conflict(message, format!("strata job show {job}"))
            }
            Ok(stop) => stop.into(),
            Err(error) => error,
        }
    })
}

/// Waits until the read models show what was just written.
pub(super) async fn settle(client: &Client, position: Option<i64>) -> anyhow::Result<()> {
    let Some(position) = position else {
        return Ok(());
    };
    let document = "query($at: Position) { me(waitFor: $at) { keyId } }";
    let _: Value = client.ask(document, json!({"at": position})).await?;
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Again {
    status: String,
    completed_at: Option<String>,
}

/// A retry that was asked for before and has ended since is no answer to a new wish.
async fn refuse_stale(client: &Client, job: JobId, granted: &Granted) -> anyhow::Result<()> {
    let again = granted.new_job_id.as_deref().and_then(|id| id.parse().ok());
    let Some(again) = again.filter(|_| granted.repeated) else {
        return Ok(());
    };
    let found = About::plain(again, "status completedAt")
        .ask(client)
        .await?;
    let Found::Job(
        Again {
            status,
            completed_at: Some(_),
        },
        _,
    ) = found
    else {
        return Ok(());
    };
    let message = format!("{job} was retried before, as {again}, which is {status}");
    let next = match status.as_str() {
        "COMPLETED" => format!("strata job result {again}"),
        _ => format!("strata job retry {again}"),
    };
    Err(Stop::conflict(message, next))
}

impl Wish {
    /// As it is typed, and as the API names it in small letters.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

impl Granted {
    /// For programs.
    pub(super) fn json(&self) -> Value {
        let of = match self.outcome.as_str() {
            "forked" => "forked_from",
            _ => "retry_of",
        };
        match &self.new_job_id {
            Some(again) => {
                let mut made = json!({
                    "request_id": self.new_request_id, "job_id": again, of: self.job_id,
                    "pos": self.position, "repeated": self.repeated,
                });
                if let Some(plan) = &self.plan {
                    made["plan"] = json!(plan);
                }
                made
            }
            None => json!({
                "job_id": self.job_id, "outcome": self.outcome.replace('_', " "), "pos": self.position,
            }),
        }
    }

    /// What would be taken over; nothing was done.
    pub(super) fn preview(&self, format: Format, console: &mut Console<'_>) -> anyhow::Result<()> {
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        if format == Format::Json {
            let preview = json!({"job_id": self.job_id, "outcome": self.outcome, "plan": plan});
            return Ok(console.data(&serde_json::to_string_pretty(&preview)?)?);
        }
        plan.print(console)?;
        Ok(console.talk(&format!("{}; nothing was done", plan.sum()))?)
    }

    pub(super) fn say(&self, console: &mut Console<'_>) -> anyhow::Result<()> {
        if let (Some(job), Some(request)) = (&self.new_job_id, &self.new_request_id) {
            submit::say(job, request, self.repeated, console)?;
            if let Some(plan) = &self.plan {
                console.talk(&plan.sum())?;
                for surprise in plan.surprises() {
                    console.talk(&surprise)?;
                }
            }
            return Ok(());
        }
        let outcome = self.outcome.replace('_', " ");
        Ok(console.talk(&format!("{} is {outcome}", self.job_id))?)
    }
}
