//! `strata job watch`: follows a job to its end by looking at the read models.
//!
//! On a terminal there is one bar per node; elsewhere one line per change of state, none of them twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::id::JobId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::args::JobArgs;
use super::client::{self, Found};
use super::live::Bars;
use super::show::failure_text;
use super::snapshot::Snapshot;
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint};
use crate::roles::stack::Write;

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(150);

pub(super) async fn run(
    args: &JobArgs,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let write = client::look(&args.stack).await?;
    let flag = args.stack.flag();
    let ended = follow(&write, args.job, Some(&flag), console, stop).await;
    write.stop().await;
    let Some(ended) = ended? else {
        return Ok(Exit::Interrupted);
    };
    if args.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&ended.json())?)?;
    }
    say_end(&ended, &flag, console)?;
    Ok(exit_of(&ended))
}

/// What the shell is told about a job that has ended.
pub(crate) fn exit_of(ended: &Ended) -> Exit {
    match ended.0.job.status.as_str() {
        "COMPLETED" => Exit::Ok,
        _ => Exit::Failed,
    }
}

/// A job that has ended.
pub(crate) struct Ended(Snapshot);

impl Ended {
    fn json(&self) -> serde_json::Value {
        self.0.json()
    }

    /// What it answered, if it completed.
    pub(crate) fn result(&self) -> Option<&serde_json::Value> {
        self.0.job.result.as_ref()
    }
}

/// Shows a job until it ends; nothing if it is interrupted.
pub(crate) async fn follow(
    write: &Write,
    job: JobId,
    // How the same stack is named, if it goes on without us.
    flag: Option<&str>,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Ended>> {
    let mut shown = if console.look.live {
        Shown::Live(Bars::new(console.look))
    } else {
        Shown::Lines(Lines::default())
    };
    let mut seen = None;
    loop {
        let looked = Instant::now();
        match client::find(write, job).await? {
            Found::Waiting(_) => shown.waits(job, console)?,
            // Its nodes are read only when it has moved.
            Found::Job(row) if seen == Some(row.last_pos) => {}
            Found::Job(row) => {
                seen = Some(row.last_pos);
                let now = Snapshot::of(write, *row).await?;
                shown.update(&now, console)?;
                if now.job.degraded {
                    shown.end();
                    return Err(degraded(job));
                }
                if now.job.completed_at.is_some() {
                    shown.end();
                    return Ok(Some(Ended(now)));
                }
            }
        }
        // A giant takes longer to read; most of the time must be for others.
        let pause = LOOK_EVERY.max(looked.elapsed() * 4);
        tokio::select! {
            () = stop.cancelled() => {
                shown.end();
                console.talk(&match flag {
                    Some(flag) => format!("the job goes on: strata job watch {job}{flag}"),
                    None => "stopping; the job goes on when Strata runs again".to_owned(),
                })?;
                return Ok(None);
            }
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// The read models could not follow the job, so its end would never show.
fn degraded(job: JobId) -> anyhow::Error {
    let message =
        format!("{job} can be shown only up to an event that the projector does not understand");
    Stop::failed(message, "strata doctor")
}

/// Says how it ended, and which command of a job to look with next.
pub(crate) fn say_how(ended: &Ended, console: &mut Console<'_>) -> anyhow::Result<&'static str> {
    let job = &ended.0.job;
    let lasted = job.completed_at.map(|end| end - job.created_at);
    let lasted = lasted.map_or(0, |span| span.num_milliseconds().max(0));
    let (paint, next) = match job.status.as_str() {
        "COMPLETED" => (Paint::Good, "result"),
        "FAILED" => (Paint::Bad, "logs --failed"),
        _ => (Paint::Warn, "show"),
    };
    let word = console.look.paint(paint, &job.status);
    let (seconds, tenths) = (lasted / 1_000, lasted % 1_000 / 100);
    let mut text = format!("{word} after {seconds}.{tenths} s");
    if let Some(failure) = &job.failure {
        text.push_str(&format!(": {}", failure_text(failure)));
    }
    console.talk(&text)?;
    Ok(next)
}

/// Says how it ended, and what to do next.
pub(super) fn say_end(ended: &Ended, flag: &str, console: &mut Console<'_>) -> anyhow::Result<()> {
    let next = say_how(ended, console)?;
    let job = &ended.0.job.job_id;
    Ok(console.talk(&format!("next: strata job {next} {job}{flag}"))?)
}

enum Shown {
    Live(Bars),
    Lines(Lines),
}

impl Shown {
    fn waits(&mut self, job: JobId, console: &mut Console<'_>) -> std::io::Result<()> {
        match self {
            Self::Live(bars) => bars.waits(),
            Self::Lines(lines) => {
                let text = format!("{job} waits for an orchestrator");
                lines.say("", text, console)?;
            }
        }
        Ok(())
    }

    fn update(&mut self, now: &Snapshot, console: &mut Console<'_>) -> std::io::Result<()> {
        match self {
            Self::Live(bars) => bars.update(now),
            Self::Lines(lines) => lines.update(now, console)?,
        }
        Ok(())
    }

    fn end(&self) {
        if let Self::Live(bars) = self {
            bars.end();
        }
    }
}

/// One line per change.
#[derive(Default)]
struct Lines {
    last: BTreeMap<String, String>,
    said: BTreeSet<String>,
}

impl Lines {
    fn update(&mut self, now: &Snapshot, console: &mut Console<'_>) -> std::io::Result<()> {
        let job = &now.job;
        let title = format!(
            "{} {} v{}",
            job.job_id, job.workflow_id, job.workflow_version
        );
        self.say("", title, console)?;
        let names = now.rows.iter().map(|row| row.node.node_id.chars().count());
        let width = names.max().unwrap_or(0);
        for row in now.rows.iter().filter(|row| row.node.status != "PENDING") {
            let name = &row.node.node_id;
            let text = format!("  {name:<width$}  {:<10}  {}", row.status(), row.note());
            self.say(name, text.trim_end().to_owned(), console)?;
        }
        if job.paused && job.completed_at.is_none() {
            self.say("", format!("{} is paused", job.job_id), console)?;
        }
        Ok(())
    }

    fn say(&mut self, of: &str, text: String, console: &mut Console<'_>) -> std::io::Result<()> {
        if self.last.get(of) == Some(&text) || !self.said.insert(text.clone()) {
            return Ok(());
        }
        console.talk(&text)?;
        self.last.insert(of.to_owned(), text);
        Ok(())
    }
}
