//! All jobs of a part of the log: counted, and named where they differ.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::handler::Catalog;
use domain::job::replay::{Difference, Divergence};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use projections::replay::{Other, Outcome, Range, Replayed, Replayer, Since};
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use super::args::ReplayArgs;
use super::show::shown;
use super::{policy, unreadable};
use crate::args::Format;
use crate::audit::connections;
use crate::exit::Exit;
use crate::output::{Console, Look, Paint, cut, lines_of, one_line};
use crate::roles::stack::Stack;
use crate::runtime;
use crate::when::When;

/// Jobs that are named; all are counted.
const NAMED_MAX: usize = 100_000;
/// Fields of one job that are named.
const FIELDS_MAX: usize = 4;
/// Rows of the table; `--output json` names all.
const ROWS_MAX: usize = 200;

/// What was found.
#[derive(Default, Serialize)]
struct Summary {
    jobs: u64,
    confirmed: u64,
    diverged: u64,
    /// This build cannot read them.
    unreadable: u64,
    /// Of another workflow than the file that was tried.
    other_workflow: u64,
    events: u64,
    decisions: u64,
    /// How many differ in which way, most first.
    ways: Vec<(String, u64)>,
    differ: Vec<Differs>,
    /// Jobs that differ and are not named.
    omitted: u64,
}

/// A job that is not confirmed.
#[derive(Serialize)]
struct Differs {
    job_id: String,
    workflow_id: String,
    workflow_version: u32,
    /// Events before that are the same.
    events: u64,
    version: u64,
    pos: Option<u64>,
    kind: &'static str,
    /// The type of the event, as recorded or as it would be.
    event: String,
    command: String,
    reason: Option<String>,
    differences: Vec<Difference>,
}

pub(super) fn run(
    other: Option<Other>,
    args: &ReplayArgs,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let look = console.look;
    let ran = runtime::block_on(async |stop| {
        tokio::select! {
            () = stop.cancelled() => Ok(None),
            done = replay(other, args, look) => done.map(Some),
        }
    })?;
    let Some((summary, range, seconds)) = ran else {
        return Ok(Exit::Interrupted);
    };
    match args.output {
        Format::Json => {
            let mut value = serde_json::to_value(&summary)?;
            value["from_pos"] = json!(range.from_pos);
            value["upto_pos"] = json!(range.upto_pos);
            value["seconds"] = json!(seconds);
            value["with"] = json!(args.with.as_ref().map(|file| file.display().to_string()));
            console.data(&serde_json::to_string_pretty(&value)?)?;
        }
        Format::Table => summary.table(range, seconds, console)?,
    }
    Ok(match summary.diverged + summary.unreadable {
        0 => Exit::Ok,
        _ => Exit::NotVerified,
    })
}

async fn replay(
    other: Option<Other>,
    args: &ReplayArgs,
    look: Look,
) -> anyhow::Result<(Summary, Range, f64)> {
    let connections = args.connections.unwrap_or_else(connections);
    let pool = Stack::of_database(&args.data_dir)?.pool(1).await?;
    let catalog = Arc::new(Catalog::shipped());
    let at_once = usize::try_from(connections)?;
    let replayer = Replayer::new(&pool, at_once, catalog, other, policy());
    let since = args.since.map_or(Since::Pos(1), When::since);
    let bar = bar(look);
    let start = Instant::now();
    let mut summary = Summary::default();
    let mut ways = BTreeMap::new();
    let done = replayer.all(since, |replayed, (done, total)| {
        bar.set_length(total.unsigned_abs());
        bar.set_position(done.unsigned_abs());
        for one in replayed {
            summary.take(one, &mut ways);
        }
        bar.set_message(format!(
            "{} jobs, {} differ",
            summary.jobs, summary.diverged
        ));
    });
    let range = done.await.map_err(|error| unreadable(&error));
    bar.finish_and_clear();
    let range = range?;
    let seconds = start.elapsed().as_secs_f64();
    replayer.close().await;
    pool.close().await;
    summary.ways = ways.into_iter().collect();
    summary
        .ways
        .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    // In the order of the log, however many were replayed side by side.
    summary
        .differ
        .sort_by(|a, b| (a.pos, &a.job_id).cmp(&(b.pos, &b.job_id)));
    Ok((summary, range, seconds))
}

fn bar(look: Look) -> ProgressBar {
    let target = match look.live {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {percent}% of the log, {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

impl Summary {
    fn take(&mut self, one: Replayed, ways: &mut BTreeMap<String, u64>) {
        self.jobs += 1;
        let workflow = one.workflow.as_ref();
        let mut differs = Differs {
            job_id: one.job_id,
            workflow_id: workflow.map(|w| w.id.clone()).unwrap_or_default(),
            workflow_version: workflow.map_or(0, |w| w.version),
            events: 0,
            version: 1,
            pos: None,
            kind: "unreadable",
            event: String::new(),
            command: String::new(),
            reason: None,
            differences: Vec::new(),
        };
        match one.outcome {
            Outcome::OtherWorkflow => {
                self.other_workflow += 1;
                return;
            }
            Outcome::Unreadable(why) => {
                self.unreadable += 1;
                differs.reason = Some(why);
            }
            Outcome::Verdict(verdict) => {
                self.events += verdict.events;
                self.decisions += verdict.decisions;
                let Some(divergence) = verdict.divergence else {
                    self.confirmed += 1;
                    return;
                };
                self.diverged += 1;
                differs.events = verdict.events;
                differs.fill(divergence);
            }
        }
        *ways.entry(differs.way()).or_default() += 1;
        match self.differ.len() < NAMED_MAX {
            true => self.differ.push(differs),
            false => self.omitted += 1,
        }
    }

    fn table(&self, range: Range, seconds: f64, console: &mut Console<'_>) -> anyhow::Result<()> {
        let Self {
            jobs,
            confirmed,
            diverged,
            events,
            decisions,
            ..
        } = self;
        let word = match self.diverged + self.unreadable {
            0 => console.look.paint(Paint::Good, "confirmed"),
            _ => console.look.paint(Paint::Bad, "diverged"),
        };
        let mut text = format!(
            "{word}: {jobs} jobs that begin at positions {} to {}: {confirmed} confirmed, {diverged} differ",
            range.from_pos, range.upto_pos
        );
        if self.unreadable > 0 {
            text.push_str(&format!(", {} cannot be read", self.unreadable));
        }
        if self.other_workflow > 0 {
            text.push_str(&format!(", {} of other workflows", self.other_workflow));
        }
        console.data(&text)?;
        for (way, count) in self.ways.iter().take(FIELDS_MAX) {
            console.data(&format!("  {count} times {}", one_line(way)))?;
        }
        if !self.differ.is_empty() {
            let mut table = console
                .look
                .table(&["JOB", "WORKFLOW", "VERSION", "WHAT", "RECORDED", "TODAY"]);
            for job in self.differ.iter().take(ROWS_MAX) {
                let first = job.differences.first();
                table.add_row([
                    job.job_id.clone(),
                    one_line(&job.workflow_id),
                    job.version.to_string(),
                    one_line(&job.way()),
                    shown(first.and_then(|d| d.recorded.as_ref())),
                    shown(first.and_then(|d| d.replayed.as_ref())),
                ]);
            }
            console.data(&lines_of(&table))?;
        }
        let named = self.differ.len().min(ROWS_MAX) as u64;
        let rest = diverged + self.unreadable - named;
        if rest > 0 {
            console.talk(&format!("and {rest} more; --output json names them"))?;
        }
        console.talk(&format!(
            "{events} events of {decisions} decisions in {seconds:.1} s"
        ))?;
        Ok(())
    }
}

impl Differs {
    fn fill(&mut self, divergence: Divergence) {
        let name = divergence
            .recorded
            .as_ref()
            .or(divergence.replayed.as_ref());
        let name = name.and_then(|event| event["type"].as_str());
        self.event = name.unwrap_or_default().to_owned();
        self.version = divergence.version;
        self.pos = divergence.pos;
        self.kind = divergence.kind.word();
        self.command = divergence.command;
        self.reason = divergence.reason;
        let differences = divergence.differences.into_iter().take(FIELDS_MAX);
        self.differences = differences.map(short).collect();
    }

    /// In which way it differs, so that many of the same can be counted.
    fn way(&self) -> String {
        let fields: Vec<&str> = self
            .differences
            .iter()
            .map(|d| d.pointer.as_str())
            .collect();
        let reason = self.reason.as_deref().unwrap_or_default();
        let text = format!("{} {} {}{reason}", self.kind, self.event, fields.join(" "));
        cut(text.trim_end(), 120)
    }
}

/// A difference whose values may be shown in a list of many.
fn short(difference: Difference) -> Difference {
    let is_large = |value: &serde_json::Value| domain::json::size_bytes(value) > 256;
    let short = |value: Option<serde_json::Value>| {
        value.map(|value| match is_large(&value) {
            true => json!(cut(&value.to_string(), 256)),
            false => value,
        })
    };
    Difference {
        pointer: difference.pointer,
        recorded: short(difference.recorded),
        replayed: short(difference.replayed),
    }
}
