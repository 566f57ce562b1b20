//! The appender against a raw insert of the same rows, in turns, in the same database.

use std::time::Duration;

use commands::log::{Append, Batch, Expected, Meta};
use commands::write::fresh_id;
use domain::event::Event;
use domain::job;
use serde_json::json;

use super::fixture::graph;
use super::fold::history;
use super::limit::Plain;
use super::meter::{now, percentile_ms};
use super::rig::Rig;
use super::{Figure, largest};

/// Events of one batch.
const SIZES: [usize; 3] = [10, 100, 500];
/// Events that one job adds to a batch.
const PER_STREAM: usize = 10;
/// Both take turns, so that what else the machine does hits them alike.
const PASSES: u32 = 3;
/// Events per size, side and pass.
const EVENTS: usize = 10_000;
/// A batch of ten costs a commit each: fewer of them say enough.
const BATCHES_MAX: usize = 400;

pub(super) async fn measure(rig: &Rig) -> anyhow::Result<Vec<Figure>> {
    let mut plain = Plain::make(&rig.pool).await?;
    let mut figures = Vec::new();
    for size in SIZES {
        let batches = (EVENTS / size).min(BATCHES_MAX);
        let (mut ours, mut raw) = (Vec::new(), Vec::new());
        for _ in 0..PASSES {
            let groups = groups(size, batches)?;
            let mut encoded = Vec::new();
            for group in &groups {
                encoded.push(Batch::of_group(fresh_id(), group)?);
            }
            for group in &groups {
                let start = now();
                rig.write.writer.appender.append(group).await?;
                ours.push(start.elapsed());
            }
            for batch in &encoded {
                raw.push(plain.insert(batch).await?);
            }
        }
        let events = (size * batches) as f64 * f64::from(PASSES);
        let total_s = seconds(&ours);
        let (rate_per_s, limit_per_s) = (events / total_s, events / seconds(&raw));
        ours.sort_unstable();
        let mut figure = Figure {
            bench: "append",
            n: u64::try_from(size * batches)? * u64::from(PASSES),
            total_s,
            rate_per_s,
            p50_ms: percentile_ms(&ours, 50),
            p99_ms: percentile_ms(&ours, 99),
            limit_per_s,
            ratio: rate_per_s / limit_per_s,
            rss_mb: largest(&rig.memory()?),
            ..Figure::default()
        };
        figure.also("batch", json!(size));
        figure.also(
            "limit",
            json!("one multi-row insert of the same rows per commit"),
        );
        figures.push(figure);
    }
    Ok(figures)
}

/// Events per second of the raw insert alone, in the largest batches.
pub(super) async fn raw_per_s(rig: &Rig) -> anyhow::Result<f64> {
    let mut plain = Plain::make(&rig.pool).await?;
    let mut times = Vec::new();
    let size = SIZES.into_iter().max().unwrap_or(1);
    for group in groups(size, EVENTS / size)? {
        times.push(plain.insert(&Batch::of_group(fresh_id(), &group)?).await?);
    }
    Ok((size * times.len()) as f64 / seconds(&times))
}

/// Commits per second of the raw insert with a few events of one job each, one after another.
pub(super) async fn alone(plain: &mut Plain, commits: usize) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for group in groups(PER_STREAM, commits)? {
        times.push(plain.insert(&Batch::of_group(fresh_id(), &group)?).await?);
    }
    Ok(times.len() as f64 / seconds(&times))
}

/// The events of many jobs, a few of each job in every batch.
pub(super) fn groups(size: usize, batches: usize) -> anyhow::Result<Vec<Vec<Append>>> {
    let mut life = history(&graph(1, 20, &json!({ "index": "{{ index }}" }))?)?;
    // It goes round and round: nothing comes after an end.
    life.retain(|event| !matches!(event, job::Event::JobCompleted { .. }));
    let jobs: Vec<_> = (0..size / PER_STREAM).map(|_| fresh_id()).collect();
    let group = |nth: usize| {
        let events = life.iter().cycle().skip(nth * PER_STREAM % life.len());
        let events: Vec<_> = events.take(PER_STREAM).cloned().map(Event::Job).collect();
        let append = |job: &uuid::Uuid| Append {
            stream: format!("job:{job}"),
            expected: Expected::Version((nth * PER_STREAM) as u64),
            org_id: "default".to_owned(),
            meta: Meta {
                actor: "bench".to_owned(),
                command_id: fresh_id(),
                correlation: Some(job.to_string()),
                causation: None,
                trace: None,
            },
            events: events.clone(),
            open_job: None,
            closes: false,
        };
        jobs.iter().map(append).collect()
    };
    Ok((0..batches).map(group).collect())
}

fn seconds(times: &[Duration]) -> f64 {
    times.iter().sum::<Duration>().as_secs_f64()
}
