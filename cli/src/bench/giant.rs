//! Fairness: how long small jobs take alone, and beside a giant that would fill every queue.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use serde_json::json;

use super::meter::{now, percentile_ms};
use super::rig::Rig;
use super::{Figure, fanout, largest, look, shapes};

/// Small jobs that are submitted at once.
const SMALL: u32 = 200;
const DEADLINE: Duration = Duration::from_secs(120);

/// The first line is without the giant, the second with it; `ratio` is how much longer the median takes.
pub(super) async fn measure(rig: &Rig, items: u32) -> anyhow::Result<Vec<Figure>> {
    let task = json!({ "handler": "echo", "params": { "index": "{{ index }}" } });
    rig.register(&shapes::fan_out("bench_giant", items, &task))
        .await?;
    let mut alone = small(rig, "bench_alone").await?;
    rig.all_done(DEADLINE).await?;
    let giant = rig.submit("bench_giant").await?.job_id;
    let id = giant.to_string();
    fanout::until(rig, DEADLINE, async || {
        fanout::has_some(rig, &id, "COMPLETED").await
    })
    .await?;
    let mut beside = small(rig, "bench_beside").await?;
    let is_open = fanout::has_some(rig, &id, "READY").await?;
    anyhow::ensure!(
        is_open,
        "the giant ended before the small jobs: give it more items"
    );
    rig.write.writer.cancel(giant, "bench", "bench").await?;
    alone.ratio = 1.0;
    beside.limit_per_s = alone.rate_per_s;
    beside.ratio = beside.p50_ms / alone.p50_ms;
    alone.limit_per_s = alone.rate_per_s;
    alone.also("giant", json!(0));
    beside.also("giant", json!(items));
    for figure in [&mut alone, &mut beside] {
        figure.also(
            "ratio_is",
            json!("median of the small jobs, against that without the giant"),
        );
    }
    Ok(vec![alone, beside])
}

async fn small(rig: &Rig, workflow: &'static str) -> anyhow::Result<Figure> {
    rig.register(&shapes::one(workflow)).await?;
    let start = now();
    let submits: futures_util::stream::FuturesUnordered<_> =
        (0..SMALL).map(|_| rig.submit(workflow)).collect();
    submits.try_collect::<Vec<_>>().await?;
    fanout::until(rig, DEADLINE, async || {
        Ok(look::job_times(&rig.pool, workflow).await?.len() == usize::try_from(SMALL)?)
    })
    .await?;
    let total_s = start.elapsed().as_secs_f64();
    let times = look::job_times(&rig.pool, workflow).await?;
    Ok(Figure {
        bench: "giant",
        n: u64::from(SMALL),
        total_s,
        rate_per_s: f64::from(SMALL) / total_s,
        p50_ms: percentile_ms(&times, 50),
        p99_ms: percentile_ms(&times, 99),
        rss_mb: largest(&rig.memory()?),
        ..Figure::default()
    })
}
