//! Reports decided and applied per second, and memory per waiting node, for one job of three sizes.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use domain::definition::Graph;
use domain::job::{self, Command, Event, JobStatus, State};
use serde_json::json;

use super::Figure;
use super::fixture::{completed, context, dispatch, dispatched, graph, report, waiting};
use super::meter::{megabytes, now, percentile_ms, resident_bytes, timed};

/// Children of the one fan-out, smallest job first.
const SIZES: [u32; 3] = [1_000, 10_000, 100_000];
/// Reports measured per size and pass: small jobs are run as often as it takes.
const REPORTS: u32 = 100_000;
/// The sizes take turns, so that what else the machine does hits them alike.
const PASSES: u32 = 3;
/// Nodes held at once while memory is measured, so that pages do not blur the figure.
const NODES_HELD: u32 = 200_000;

pub(super) fn measure() -> anyhow::Result<Vec<Figure>> {
    let params = json!({ "index": "{{ index }}" });
    let mut jobs = Vec::new();
    for children in SIZES {
        jobs.push((children, graph(1, children, &params)?));
    }
    let memory = bytes_per_node(&jobs)?;
    let mut measured: Vec<Reports> = jobs.iter().map(|_| Reports::default()).collect();
    // Once unmeasured, so that the first size does not pay for cold caches.
    if let Some((_, graph)) = jobs.first() {
        Reports::default().add(graph, 20)?;
    }
    for _ in 0..PASSES {
        for ((children, graph), reports) in jobs.iter().zip(&mut measured) {
            reports.add(graph, REPORTS / children)?;
        }
    }
    let mut figures: Vec<Figure> = Vec::new();
    let mut smallest = None;
    for (((children, _), mut reports), bytes_per_node) in jobs.iter().zip(measured).zip(memory) {
        reports.times.sort_unstable();
        let total_s = reports.total.as_secs_f64();
        let count = f64::from(REPORTS * PASSES);
        let ns_per_report = total_s * 1e9 / count;
        let (rate_per_s, limit_per_s) = (count / total_s, count / reports.cloning.as_secs_f64());
        let first = *smallest.get_or_insert(ns_per_report);
        let mut figure = Figure {
            bench: "core",
            n: u64::from(*children),
            total_s,
            rate_per_s,
            p50_ms: percentile_ms(&reports.times, 50),
            p99_ms: percentile_ms(&reports.times, 99),
            limit_per_s,
            ratio: rate_per_s / limit_per_s,
            rss_mb: megabytes(resident_bytes()?),
            ..Figure::default()
        };
        figure.also("growth", json!(ns_per_report / first));
        figure.also("nodes", json!(children));
        figure.also("ns_per_report", json!(ns_per_report));
        figure.also("bytes_per_node", json!(bytes_per_node));
        figures.push(figure);
    }
    Ok(figures)
}

/// Memory of a job whose children all wait, per child and for each size.
///
/// All jobs are held until the end: what was freed would be used again, unseen by the measurement.
fn bytes_per_node(jobs: &[(u32, Arc<Graph>)]) -> anyhow::Result<Vec<f64>> {
    let mut held = Vec::new();
    let mut bytes = Vec::new();
    for (children, graph) in jobs {
        let copies = (NODES_HELD / children).max(1);
        let before = resident_bytes()?;
        for _ in 0..copies {
            held.push(waiting(graph)?.0);
        }
        let grown = resident_bytes()?.saturating_sub(before);
        bytes.push(grown as f64 / f64::from(copies * children));
    }
    drop(held);
    Ok(bytes)
}

/// The times of all reports of some rounds, each on a fresh job.
#[derive(Default)]
struct Reports {
    times: Vec<Duration>,
    total: Duration,
    cloning: Duration,
}

impl Reports {
    fn add(&mut self, graph: &Arc<Graph>, rounds: u32) -> anyhow::Result<()> {
        for _ in 0..rounds {
            let (mut state, _) = waiting(graph)?;
            let commands = all_dispatched(&mut state)?;
            let events = self.round(&mut state, commands)?;
            self.cloning += timed(|| {
                for event in &events {
                    black_box(event.clone());
                }
            });
        }
        Ok(())
    }

    /// One completed report per child: decide and evolve. The events are kept, as a log would.
    fn round(&mut self, state: &mut State, commands: Vec<Command>) -> anyhow::Result<Vec<Event>> {
        let context = context();
        let mut events = Vec::with_capacity(commands.len() + 8);
        let start = now();
        let mut last = start;
        for command in commands {
            let decided = job::handle(state, command, &context)?;
            events.extend(decided.into_events());
            let here = now();
            self.times.push(here - last);
            last = here;
        }
        self.total += last - start;
        let is_done = state.status() == JobStatus::Completed;
        anyhow::ensure!(is_done, "the measured job did not complete");
        Ok(events)
    }
}

/// Dispatches every child and returns the report that each will get.
fn all_dispatched(state: &mut State) -> anyhow::Result<Vec<Command>> {
    let mut commands = Vec::new();
    loop {
        let events = dispatch(state)?;
        if events.is_empty() {
            return Ok(commands);
        }
        for node in dispatched(&events) {
            let output = json!({ "echoed_params": { "index": node.child } });
            commands.push(report(node, completed(output)));
        }
    }
}
