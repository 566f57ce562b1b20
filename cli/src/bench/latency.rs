//! W4: one single-task job after another on an idle system, from the call to the end in the log.

use std::time::Duration;

use anyhow::Context as _;
use domain::id::JobId;
use futures_util::StreamExt as _;
use serde_json::json;

use super::limit::Plain;
use super::meter::{now, percentile_ms};
use super::rig::Rig;
use super::{Figure, append, largest, shapes};

const JOBS: u32 = 300;
/// One job may take so long before the bench gives up.
const DEADLINE: Duration = Duration::from_secs(20);
/// If no hint comes, the log is looked at anyway.
const HINT: Duration = Duration::from_millis(2);
/// Commits that make the limit: ten events each, about those of one job.
const COMMITS: usize = 500;

pub(super) async fn measure(rig: &Rig) -> anyhow::Result<Vec<Figure>> {
    rig.register(&shapes::one("bench_latency")).await?;
    let bus = rig.stack.bus("bench-hints").await?;
    let mut hints = bus.client.subscribe(bus.subjects.log_grew()).await?;
    let (mut times, mut submits) = (Vec::new(), Vec::new());
    for _ in 0..JOBS {
        let start = now();
        let job = rig.submit("bench_latency").await?.job_id;
        submits.push(start.elapsed());
        let ended = tokio::time::timeout(DEADLINE, ended(rig, job, &mut hints)).await;
        match ended {
            Ok(ended) => ended?,
            Err(_) => return Err(rig.stuck(DEADLINE).await),
        }
        times.push(start.elapsed());
    }
    let total_s = times.iter().sum::<Duration>().as_secs_f64();
    let mut plain = Plain::make(&rig.pool).await?;
    let alone = append::alone(&mut plain, COMMITS).await?;
    times.sort_unstable();
    submits.sort_unstable();
    let rate_per_s = f64::from(JOBS) / total_s;
    let memory = rig.memory()?;
    let mut figure = Figure {
        bench: "latency",
        n: u64::from(JOBS),
        total_s,
        rate_per_s,
        p50_ms: percentile_ms(&times, 50),
        p99_ms: percentile_ms(&times, 99),
        limit_per_s: alone,
        ratio: rate_per_s / alone,
        rss_mb: largest(&memory),
        ..Figure::default()
    };
    figure.also("submit_p50_ms", json!(percentile_ms(&submits, 50)));
    figure.also("submit_p99_ms", json!(percentile_ms(&submits, 99)));
    figure.also(
        "limit",
        json!("durable commits of ten events, one after another"),
    );
    figure.also("rss_mb_by_role", json!(memory));
    Ok(vec![figure])
}

/// Reads on in the stream of a job, woken by hints, until it has ended.
async fn ended(
    rig: &Rig,
    job: JobId,
    hints: &mut (impl futures_util::Stream + Unpin),
) -> anyhow::Result<()> {
    let stream = format!("job:{job}");
    let mut version = 0;
    loop {
        let news = rig
            .write
            .writer
            .log
            .read_stream(&stream, version, 100)
            .await?;
        for event in &news {
            version = event.version;
            match event.kind.as_str() {
                "job_completed" => return Ok(()),
                "job_failed" | "job_cancelled" => anyhow::bail!("{job} ended with {}", event.kind),
                _ => {}
            }
        }
        if let Ok(hint) = tokio::time::timeout(HINT, hints.next()).await {
            hint.context("the connection to NATS is closed")?;
        }
    }
}
