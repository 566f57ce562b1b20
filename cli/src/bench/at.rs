//! Time travel: one job with 400,000 events, shown at positions over all of its life.

use std::sync::Arc;
use std::time::Duration;

use commands::log::{Append, Expected, Meta};
use commands::write::fresh_id;
use domain::definition::{Graph, compile, content_hash};
use domain::event::Event;
use domain::handler::Catalog;
use domain::id::JobId;
use domain::job::command::Outcome;
use domain::job::{self, event};
use projections::read::ChildFilter;
use projections::travel::{AsOf, Traveller};
use serde_json::{Value, json};

use super::fixture::{completed, context, dispatch, dispatched, report, waiting};
use super::meter::{now, percentile_ms};
use super::rig::Rig;
use super::{Figure, largest, look};
use crate::roles::local_key::ORG;

/// Each child is dispatched, started and completed.
const EVENTS_PER_CHILD: u32 = 3;
/// A fan-out has at most 100,000 children.
const GROUPS: u32 = 2;
/// Positions that are looked at.
const LOOKS: u32 = 50;
/// Children that are shown with the job.
const CHILDREN: i64 = 200;
/// Events of one append.
const APPENDED: usize = 900;
const DEADLINE: Duration = Duration::from_secs(600);

pub(super) async fn measure(rig: &Rig, events: u32) -> anyhow::Result<Vec<Figure>> {
    let (job, first, last) = life(rig, events).await?;
    projections::read::wait_for(&rig.pool, last, DEADLINE).await?;
    let traveller = Traveller::new(rig.pool.clone(), Arc::new(Catalog::shipped()));
    // Nobody has looked before, and the projector may not have come to it: this makes the snapshots.
    let start = now();
    let nodes = show(&traveller, job, last).await?;
    let first_look = start.elapsed();
    let mut times = Vec::new();
    for nth in 0..LOOKS {
        // Spread evenly, and never where a snapshot is.
        let place = (last - first) * (2 * i64::from(nth) + 1) / (2 * i64::from(LOOKS));
        let start = now();
        show(&traveller, job, first + place).await?;
        times.push(start.elapsed());
    }
    let total_s: f64 = times.iter().map(Duration::as_secs_f64).sum();
    times.sort_unstable();
    let rate_per_s = f64::from(LOOKS) / total_s;
    let limit_per_s = 1.0 / first_look.as_secs_f64();
    let (snapshots, bytes) = look::snapshots(&rig.pool).await?;
    let mut figure = Figure {
        bench: "at",
        n: u64::from(LOOKS),
        total_s,
        rate_per_s,
        p50_ms: percentile_ms(&times, 50),
        p99_ms: percentile_ms(&times, 99),
        limit_per_s,
        ratio: rate_per_s / limit_per_s,
        rss_mb: largest(&rig.memory()?),
        ..Figure::default()
    };
    let max = times.last().copied().unwrap_or_default();
    figure.also("max_ms", json!(max.as_secs_f64() * 1_000.0));
    figure.also("events", json!(last - first + 1));
    figure.also("nodes", json!(nodes));
    figure.also("snapshots", json!(snapshots));
    figure.also("snapshots_mb", json!(bytes as f64 / 1_048_576.0));
    figure.also("limit", json!("the first look, which reads all events"));
    Ok(vec![figure])
}

/// The job at a position as a person sees it: its row, its nodes, and a page of children.
async fn show(traveller: &Traveller, job: JobId, pos: i64) -> anyhow::Result<usize> {
    let moment = traveller.moment(AsOf::Pos(pos)).await?;
    let found = traveller.job(Some(ORG), &job.to_string(), moment).await?;
    let found = found.ok_or_else(|| anyhow::anyhow!("the job is not there"))?;
    anyhow::ensure!(found.row().last_pos == pos, "it is not of position {pos}");
    found.nodes(CHILDREN).await?;
    if found.child_counts("fan0").is_some() {
        let filter = ChildFilter {
            job_id: job.to_string(),
            parent: "fan0".to_owned(),
            limit: CHILDREN,
            ..ChildFilter::default()
        };
        let children = found.children(&filter).await?;
        anyhow::ensure!(!children.items.is_empty(), "no children");
    }
    Ok(found.size())
}

/// Appends the life of a job of so many events; its first and its last position.
async fn life(rig: &Rig, events: u32) -> anyhow::Result<(JobId, i64, i64)> {
    let children = events / GROUPS / EVENTS_PER_CHILD;
    let workflow = workflow(children);
    rig.register(&workflow).await?;
    let head = projections::read::head(&rig.pool).await?;
    projections::read::wait_for(&rig.pool, head, DEADLINE).await?;
    let workflow = serde_json::from_value(workflow)?;
    let hash = content_hash(&workflow);
    let graph: Arc<Graph> = Arc::new(compile(&workflow, &hash, &Catalog::shipped())?);
    let (mut state, made) = waiting(&graph)?;
    let Some(job::Event::JobCreated(created)) = made.first() else {
        anyhow::bail!("the job does not begin");
    };
    let event::JobCreated { job_id, .. } = **created;
    let mut log = Life {
        rig,
        job_id,
        version: 0,
        pos: 0,
    };
    log.append(made).await?;
    while !state.status().is_terminal() {
        let sent = dispatch(&mut state)?;
        let mut answers = Vec::new();
        for outcome in [
            Outcome::Started,
            completed(json!({ "echoed": "a short output" })),
        ] {
            for node in dispatched(&sent) {
                let command = report(node, outcome.clone());
                answers.extend(job::handle(&mut state, command, &context())?.into_events());
            }
        }
        anyhow::ensure!(!sent.is_empty(), "the measured job stands still");
        log.append(sent).await?;
        log.append(answers).await?;
    }
    Ok((job_id, head + 1, log.pos))
}

struct Life<'a> {
    rig: &'a Rig,
    job_id: JobId,
    version: u64,
    pos: i64,
}

impl Life<'_> {
    async fn append(&mut self, events: Vec<job::Event>) -> anyhow::Result<()> {
        for some in events.chunks(APPENDED) {
            let append = Append {
                stream: format!("job:{}", self.job_id),
                expected: Expected::Version(self.version),
                org_id: ORG.to_owned(),
                meta: Meta {
                    actor: "bench".to_owned(),
                    command_id: fresh_id(),
                    correlation: None,
                    causation: None,
                    trace: None,
                },
                events: some.iter().cloned().map(Event::Job).collect(),
                open_job: None,
                closes: false,
            };
            self.version += some.len() as u64;
            let done = self.rig.write.writer.appender.append(&[append]).await?;
            self.pos = i64::try_from(done.pos)?;
        }
        Ok(())
    }
}

/// Fan-outs side by side.
fn workflow(children: u32) -> Value {
    let names: Vec<String> = (0..GROUPS).map(|n| format!("fan{n}")).collect();
    let mut nodes = serde_json::Map::new();
    nodes.insert("START".to_owned(), json!({"type": "start", "next": names}));
    nodes.insert("END".to_owned(), json!({"type": "end"}));
    for name in names {
        let task = json!({"handler": "echo", "params": {"index": "{{ index }}"}});
        let fan = json!({"type": "fan_out", "source": children, "task": task, "next": "END"});
        nodes.insert(name, fan);
    }
    json!({"workflow_id": "bench_at", "name": "Bench", "version": 1, "nodes": nodes, "result": {}})
}
