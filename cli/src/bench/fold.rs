//! Folding: how fast a job is read back from its events, and whether that grows with their number.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use domain::definition::Graph;
use domain::job::command::Outcome;
use domain::job::{self, Event, State, apply};
use serde_json::json;

use super::Figure;
use super::fixture::{completed, context, dispatch, dispatched, graph, report, waiting};
use super::meter::{megabytes, now, percentile_ms, resident_bytes, timed};

/// Events to fold, smaller log first.
const SIZES: [u32; 2] = [100_000, 1_000_000];
/// A fan-out has at most 100,000 children, so a long log needs several.
const GROUPS: u32 = 4;
/// Each child is dispatched, started and completed.
const EVENTS_PER_CHILD: u32 = 3;
/// Events per timed batch.
const BATCH: usize = 1_000;
/// Events folded per size and pass: the small log is folded as often as it takes.
const EVENTS: u32 = 1_000_000;
/// The sizes take turns, so that what else the machine does hits them alike.
const PASSES: u32 = 3;

/// A log to fold, and the times of its folds.
struct Log {
    size: u32,
    nodes: u32,
    graph: Arc<Graph>,
    events: Vec<Event>,
    times: Vec<Duration>,
    total: Duration,
}

pub(super) fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut logs = SIZES
        .into_iter()
        .map(Log::of_size)
        .collect::<anyhow::Result<Vec<_>>>()?;
    for _ in 0..PASSES {
        for log in &mut logs {
            (0..EVENTS / log.size).for_each(|_| log.fold());
        }
    }
    let mut figures: Vec<Figure> = Vec::new();
    for mut log in logs {
        let cloning = timed(|| {
            for event in &log.events {
                black_box(event.clone());
            }
        });
        log.times.sort_unstable();
        let folds = f64::from(PASSES * (EVENTS / log.size));
        let total_s = log.total.as_secs_f64() / folds;
        let rate_per_s = f64::from(log.size) / total_s;
        let limit_per_s = f64::from(log.size) / cloning.as_secs_f64();
        let smaller = figures.first().map(|f| f.total_s);
        let mut figure = Figure {
            bench: "core-fold",
            n: u64::from(log.size),
            total_s,
            rate_per_s,
            p50_ms: percentile_ms(&log.times, 50),
            p99_ms: percentile_ms(&log.times, 99),
            limit_per_s,
            ratio: rate_per_s / limit_per_s,
            rss_mb: megabytes(resident_bytes()?),
            ..Figure::default()
        };
        // Total time against that of the smaller fold.
        figure.also("growth", json!(total_s / smaller.unwrap_or(total_s)));
        figure.also("nodes", json!(log.nodes));
        figures.push(figure);
    }
    Ok(figures)
}

impl Log {
    fn of_size(size: u32) -> anyhow::Result<Self> {
        let children = size / GROUPS / EVENTS_PER_CHILD + 1;
        // Parameters and outputs are empty: a million of them would not fit small machines.
        let graph = graph(GROUPS, children, &json!({}))?;
        let mut events = history(&graph)?;
        events.truncate(usize::try_from(size)?);
        let is_long = events.len() == usize::try_from(size)?;
        anyhow::ensure!(is_long, "the measured log is too short");
        Ok(Self {
            size,
            nodes: GROUPS * children,
            graph,
            events,
            times: Vec::new(),
            total: Duration::ZERO,
        })
    }

    fn fold(&mut self) {
        let mut state = State::new(Arc::clone(&self.graph));
        let start = now();
        let mut last = start;
        for batch in self.events.chunks(BATCH) {
            for event in batch {
                apply(&mut state, event);
            }
            let here = now();
            self.times.push(here - last);
            last = here;
        }
        black_box(&state);
        self.total += last - start;
    }
}

/// The life of a job in the order of a busy system: windows are dispatched, started and completed.
pub(super) fn history(graph: &Arc<Graph>) -> anyhow::Result<Vec<Event>> {
    let context = context();
    let (mut state, mut log) = waiting(graph)?;
    while !state.status().is_terminal() {
        let sent = dispatch(&mut state)?;
        let mut answers = Vec::new();
        for outcome in [Outcome::Started, completed(json!({}))] {
            for node in dispatched(&sent) {
                let command = report(node, outcome.clone());
                answers.extend(job::handle(&mut state, command, &context)?.into_events());
            }
        }
        anyhow::ensure!(!sent.is_empty(), "the measured job stands still");
        log.extend(sent);
        log.extend(answers);
    }
    Ok(log)
}
