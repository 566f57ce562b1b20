//! W1 and W2: many small jobs at once, single tasks and chains, until the read models show the last.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::json;
use sqlx::PgPool;
use tokio_util::task::AbortOnDropHandle;

use super::limit::commits_per_s;
use super::meter::{now, percentile_ms};
use super::rig::Rig;
use super::{Figure, append, largest, look, shapes};

/// Callers that submit at once.
const CALLERS: usize = 512;
/// Jobs that are submitted one by one, at most: each costs a commit of its own.
const ONE_BY_ONE_MAX: u32 = 1_000;
/// W2.
const CHAINS: u32 = 100;
const CHAIN_STEPS: u32 = 10;
/// A rate below this is as good as standing still.
const STEPS_PER_S_MIN: u32 = 20;
/// How often the lag of the read models is looked at.
const LAG_EVERY: Duration = Duration::from_millis(20);

/// What is submitted, and how.
struct Load {
    bench: &'static str,
    workflow: &'static str,
    jobs: u32,
    steps: u32,
    callers: usize,
}

/// W1: in bulk, then one by one.
pub(super) async fn measure(rig: &Rig, jobs: u32) -> anyhow::Result<Vec<Figure>> {
    let bulk = Load {
        bench: "jobs",
        workflow: "bench_bulk",
        jobs,
        steps: 1,
        callers: CALLERS,
    };
    let one_by_one = Load {
        workflow: "bench_one_by_one",
        jobs: jobs.min(ONE_BY_ONE_MAX),
        callers: 1,
        ..bulk
    };
    Ok(vec![run(rig, &bulk).await?, run(rig, &one_by_one).await?])
}

/// W2: the rate is that of steps.
pub(super) async fn chain(rig: &Rig) -> anyhow::Result<Vec<Figure>> {
    let load = Load {
        bench: "chain",
        workflow: "bench_chain",
        jobs: CHAINS,
        steps: CHAIN_STEPS,
        callers: CALLERS,
    };
    Ok(vec![run(rig, &load).await?])
}

async fn run(rig: &Rig, load: &Load) -> anyhow::Result<Figure> {
    rig.register(&shapes::chain(load.workflow, load.steps))
        .await?;
    let steps = load.jobs * load.steps;
    let deadline = Duration::from_secs(30 + u64::from(steps / STEPS_PER_S_MIN));
    let before = projections::read::head(&rig.pool).await?;
    let lag_us = Arc::new(AtomicU64::new(0));
    let lag = AbortOnDropHandle::new(tokio::spawn(watch_lag(
        rig.pool.clone(),
        Arc::clone(&lag_us),
    )));
    let start = now();
    let submits = (0..load.jobs).map(|_| rig.submit(load.workflow));
    let mut submits = futures_util::stream::iter(submits).buffer_unordered(load.callers);
    while submits.try_next().await?.is_some() {}
    let submitted = start.elapsed();
    rig.all_done(deadline).await?;
    let total_s = start.elapsed().as_secs_f64();
    drop(lag);
    let lag_max_ms = lag_us.load(Ordering::Relaxed) as f64 / 1_000.0;
    let events = projections::read::head(&rig.pool).await? - before;
    let times = look::job_times(&rig.pool, load.workflow).await?;
    let is_all = times.len() == usize::try_from(load.jobs)?;
    anyhow::ensure!(
        is_all,
        "only {} of {} jobs completed",
        times.len(),
        load.jobs
    );
    let events_per_step = events as f64 / f64::from(steps);
    let (limit, limit_per_s) = limit(rig, load, events_per_step).await?;
    let rate_per_s = f64::from(steps) / total_s;
    let memory = rig.memory()?;
    let mut figure = Figure {
        bench: load.bench,
        n: u64::from(load.jobs),
        total_s,
        rate_per_s,
        p50_ms: percentile_ms(&times, 50),
        p99_ms: percentile_ms(&times, 99),
        limit_per_s,
        ratio: rate_per_s / limit_per_s,
        rss_mb: largest(&memory),
        ..Figure::default()
    };
    let submit = if load.callers == 1 {
        "one by one"
    } else {
        "bulk"
    };
    figure.also("submit", json!(submit));
    figure.also("submit_s", json!(submitted.as_secs_f64()));
    figure.also("steps", json!(steps));
    figure.also("events_per_step", json!(events_per_step));
    figure.also("limit", json!(limit));
    figure.also("projection_lag_max_ms", json!(lag_max_ms));
    figure.also("rss_mb_by_role", json!(memory));
    Ok(figure)
}

/// The lower of what the machine can write for the same work: commits of the submissions if each has
/// its own, and rows of the log.
async fn limit(
    rig: &Rig,
    load: &Load,
    events_per_step: f64,
) -> anyhow::Result<(&'static str, f64)> {
    let commits = commits_per_s(&rig.pool).await? * f64::from(load.steps);
    let rows = append::raw_per_s(rig).await? / events_per_step;
    Ok(if commits < rows {
        (
            "one durable one-row commit per job, 32 connections",
            commits,
        )
    } else {
        (
            "raw inserts of 500 events, divided by the events per step",
            rows,
        )
    })
}

/// Keeps the largest lag, in microseconds.
async fn watch_lag(pool: PgPool, most_us: Arc<AtomicU64>) {
    loop {
        if let Ok(lag) = look::lag_ms(&pool).await {
            let lag = Duration::from_secs_f64(lag.max(0.0) / 1_000.0);
            let micros = u64::try_from(lag.as_micros()).unwrap_or(u64::MAX);
            most_us.fetch_max(micros, Ordering::Relaxed);
        }
        tokio::time::sleep(LAG_EVERY).await;
    }
}
