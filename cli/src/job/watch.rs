//! `strata job watch`: follows a job to its end by its live events.
//!
//! On a terminal there is one bar per node; elsewhere one line per change of state, none of them twice. What is
//! shown comes from the read models, looked at when something has happened, and not too often.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::id::JobId;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::args::JobArgs;
use super::live::Bars;
use super::show::failure_text;
use super::snapshot::{self, Snapshot};
use crate::args::Format;
use crate::client::{Client, News};
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint};

/// Least time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(150);
/// And after a look that was not answered, or while there is only a request.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// So many of these in a row are too many.
const MISSES_MAX: u32 = 60;

const WATCH: &str = "subscription($id: String!, $after: String) { \
     job(id: $id, after: $after) { cursor event { position } } }";

pub(super) async fn run(
    args: &JobArgs,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let client = Client::find(&args.stack)?;
    let flag = args.stack.flag();
    let ended = follow(&client, args.job, Some(&flag), console, stop).await;
    let Some(ended) = ended? else {
        return Ok(Exit::Interrupted);
    };
    if args.output == Format::Json {
        let whole = snapshot::take(&client, args.job, None, true).await?;
        let whole = whole.map_or_else(|open| open.waiting_json(), |now| now.json());
        console.data(&serde_json::to_string_pretty(&whole)?)?;
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
    /// What it answered, if it completed.
    pub(crate) fn result(&self) -> Option<&serde_json::Value> {
        self.0.job.result.as_ref()
    }
}

/// Shows a job until it ends; nothing if it is interrupted.
pub(crate) async fn follow(
    client: &Client,
    job: JobId,
    // How the same stack is named, if it goes on without us.
    flag: Option<&str>,
    console: &mut Console<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Ended>> {
    let shown = if console.look.live {
        Shown::Live(Bars::new(console.look))
    } else {
        Shown::Lines(Lines::default())
    };
    let mut watch = Watch {
        client: client.clone(),
        job,
        shown,
        position: None,
        next_look: None,
        misses: 0,
    };
    let ended = watch.run(console, stop).await;
    watch.shown.end();
    let ended = ended?;
    if ended.is_none() {
        console.talk(&match flag {
            Some(flag) => format!("the job goes on: strata job watch {job}{flag}"),
            None => "stopping; the job goes on when Strata runs again".to_owned(),
        })?;
    }
    Ok(ended)
}

struct Watch {
    client: Client,
    job: JobId,
    shown: Shown,
    /// The last event that is known.
    position: Option<i64>,
    /// When to look again, if there is a reason to.
    next_look: Option<Instant>,
    misses: u32,
}

impl Watch {
    async fn run(
        &mut self,
        console: &mut Console<'_>,
        stop: &CancellationToken,
    ) -> anyhow::Result<Option<Ended>> {
        let variables = json!({"id": self.job.to_string()});
        let mut feed = self.client.subscribe(WATCH, "job", variables);
        let mut looked = None;
        loop {
            let due = self.next_look;
            tokio::select! {
                () = stop.cancelled() => return Ok(None),
                news = feed.next() => self.hear(news, looked, console)?,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.next_look = None;
                    let began = Instant::now();
                    let ended = tokio::select! {
                        () = stop.cancelled() => return Ok(None),
                        ended = self.look(console) => ended?,
                    };
                    if ended.is_some() {
                        return Ok(ended);
                    }
                    // A giant takes longer to read; most of the time must be for others.
                    looked = Some(Instant::now() + LOOK_EVERY.max(began.elapsed() * 4));
                }
            }
        }
    }

    fn hear(
        &mut self,
        news: Option<News>,
        // Before that there is no other look.
        free: Option<Instant>,
        console: &mut Console<'_>,
    ) -> anyhow::Result<()> {
        match news {
            // It may have come back elsewhere.
            Some(News::Open) => self.client = self.client.again(),
            Some(News::Event(message)) => {
                let position = message.pointer("/event/position").and_then(Value::as_i64);
                self.position = self.position.max(position);
            }
            Some(News::Lost(why)) => {
                self.next_look = None;
                return Ok(self.shown.lost(&why, console)?);
            }
            Some(News::Failed(error)) => return Err(error),
            None => {
                return Err(Stop::failed(
                    "the live feed ended by itself",
                    "strata doctor",
                ));
            }
        }
        let now = Instant::now();
        let at = free.unwrap_or(now).max(now);
        self.next_look = Some(self.next_look.map_or(at, |next| next.min(at)));
        Ok(())
    }

    async fn look(&mut self, console: &mut Console<'_>) -> anyhow::Result<Option<Ended>> {
        let taken = snapshot::take(&self.client, self.job, self.position, false).await;
        let now = match taken {
            Ok(Ok(now)) => now,
            Ok(Err(_)) => {
                self.misses = 0;
                self.shown.waits(self.job, console)?;
                // A request that is withdrawn leaves no event of a job.
                self.next_look = Some(Instant::now() + LOOK_AGAIN);
                return Ok(None);
            }
            Err(error) if is_passing(&error) && self.misses < MISSES_MAX => {
                self.misses += 1;
                self.next_look = Some(Instant::now() + LOOK_AGAIN);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.misses = 0;
        self.shown.update(&now, console)?;
        if now.job.degraded {
            return Err(degraded(self.job));
        }
        Ok(now.job.completed_at.is_some().then_some(Ended(now)))
    }
}

/// The server is away or behind; the feed says when it is back.
fn is_passing(error: &anyhow::Error) -> bool {
    let stop = error.downcast_ref::<Stop>();
    stop.is_some_and(|stop| stop.exit == Exit::Unreachable && stop.code != "UNAUTHENTICATED")
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

    /// The connection broke.
    fn lost(&mut self, why: &str, console: &mut Console<'_>) -> std::io::Result<()> {
        match self {
            Self::Live(bars) => bars.lost(),
            Self::Lines(_) => console.talk(&format!("{why}; trying again"))?,
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
