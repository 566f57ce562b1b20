//! W3 and cancel: one job with very many children.

use std::time::Duration;

use serde_json::json;

use super::limit::commits_per_s;
use super::meter::{now, percentile_ms};
use super::rig::Rig;
use super::{Figure, append, largest, look, shapes};

/// A rate below this is as good as standing still.
const TASKS_PER_S_MIN: u32 = 200;
/// Long enough that no child ends by itself.
const SLEEP_SECONDS: u32 = 600;
/// How often the read models are asked whether all children have ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// W3: fans out and joins.
pub(super) async fn measure(rig: &Rig, items: u32) -> anyhow::Result<Vec<Figure>> {
    let task = json!({ "handler": "echo", "params": { "index": "{{ index }}" } });
    rig.register(&shapes::fan_out("bench_fan", items, &task))
        .await?;
    let before = projections::read::head(&rig.pool).await?;
    let start = now();
    let job = rig.submit("bench_fan").await?.job_id.to_string();
    rig.all_done(deadline(items)).await?;
    let total_s = start.elapsed().as_secs_f64();
    let events = projections::read::head(&rig.pool).await? - before;
    let times = look::task_times(&rig.pool, &job).await?;
    let is_all = times.len() == usize::try_from(items)?;
    anyhow::ensure!(is_all, "only {} of {items} tasks completed", times.len());
    let rate_per_s = f64::from(items) / total_s;
    let events_per_task = events as f64 / f64::from(items);
    let limit_per_s = append::raw_per_s(rig).await? / events_per_task;
    let memory = rig.memory()?;
    let mut figure = Figure {
        bench: "fanout",
        n: u64::from(items),
        total_s,
        rate_per_s,
        p50_ms: percentile_ms(&times, 50),
        p99_ms: percentile_ms(&times, 99),
        limit_per_s,
        ratio: rate_per_s / limit_per_s,
        rss_mb: largest(&memory),
        ..Figure::default()
    };
    figure.also("events_per_task", json!(events_per_task));
    figure.also(
        "limit",
        json!("raw inserts of 500 events, divided by the events per task"),
    );
    figure.also("rss_mb_by_role", json!(memory));
    Ok(vec![figure])
}

/// Cancel: from the call until no child is open in the read models.
pub(super) async fn cancel(rig: &Rig, items: u32) -> anyhow::Result<Vec<Figure>> {
    let params = json!({ "duration_seconds": SLEEP_SECONDS });
    let task =
        json!({ "handler": "sleep", "timeout_seconds": SLEEP_SECONDS * 2, "params": params });
    rig.register(&shapes::fan_out("bench_cancel", items, &task))
        .await?;
    let deadline = deadline(items);
    let job = rig.submit("bench_cancel").await?.job_id;
    let id = job.to_string();
    until(rig, deadline, async || is_spread(rig, &id, items).await).await?;
    let start = now();
    rig.write.writer.cancel(job, "bench", "bench").await?;
    let called = start.elapsed();
    until(rig, deadline, async || {
        let row = projections::read::job(&rig.pool, &id).await?;
        let is_cancelled = row.is_some_and(|row| row.status == "CANCELLED");
        Ok(is_cancelled && !look::is_any_child_open(&rig.pool, &id).await?)
    })
    .await?;
    let took = start.elapsed();
    let total_s = took.as_secs_f64();
    let rate_per_s = f64::from(items) / total_s;
    let limit_per_s = commits_per_s(&rig.pool).await?;
    let memory = rig.memory()?;
    let mut figure = Figure {
        bench: "cancel",
        n: u64::from(items),
        total_s,
        rate_per_s,
        p50_ms: percentile_ms(&[took], 50),
        p99_ms: percentile_ms(&[took], 99),
        limit_per_s,
        ratio: rate_per_s / limit_per_s,
        rss_mb: largest(&memory),
        ..Figure::default()
    };
    figure.also("call_ms", json!(called.as_secs_f64() * 1_000.0));
    figure.also(
        "limit",
        json!("one durable one-row commit per child, 32 connections"),
    );
    figure.also("rss_mb_by_role", json!(memory));
    Ok(vec![figure])
}

/// Whether some children have this status in the read models.
pub(super) async fn has_some(rig: &Rig, job: &str, status: &str) -> anyhow::Result<bool> {
    let counts = projections::read::fan_outs(&rig.pool, job).await?;
    Ok(counts
        .get("fan")
        .is_some_and(|counts| counts.contains_key(status)))
}

/// Whether the read models show all children, and some of them running.
async fn is_spread(rig: &Rig, job: &str, items: u32) -> anyhow::Result<bool> {
    let counts = projections::read::fan_outs(&rig.pool, job).await?;
    let Some(counts) = counts.get("fan") else {
        return Ok(false);
    };
    let is_running = counts.contains_key("RUNNING");
    Ok(is_running && counts.values().sum::<i64>() == i64::from(items))
}

pub(super) async fn until(
    rig: &Rig,
    deadline: Duration,
    is_true: impl AsyncFn() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let waited = async {
        while !is_true().await? {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    };
    match tokio::time::timeout(deadline, waited).await {
        Ok(done) => done,
        Err(_) => Err(rig.stuck(deadline).await),
    }
}

fn deadline(items: u32) -> Duration {
    Duration::from_secs(30 + u64::from(items / TASKS_PER_S_MIN))
}
