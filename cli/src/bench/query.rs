//! Queries of a portal on large read models: a page of the list of jobs, and one job with its nodes.

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::face::Api;
use super::meter::{now, percentile_ms};
use super::rig::Rig;
use super::{Figure, largest, look};

/// Rows in the read model.
const JOBS: i32 = 100_000;
const NODES: i32 = 100;
/// Requests of each kind, and how many at once.
const REQUESTS: usize = 1_000;
const AT_ONCE: usize = 2;

const LIST: &str = "query($a: String, $f: JobFilter) { jobs(first: 50, after: $a, filter: $f) {
    pageInfo { hasNextPage endCursor }
    nodes { id workflowId status priority paused createdAt completedAt progress { done total percent } } } }";
const JOB: &str = "query($id: String!) { job(id: $id) { id status inputs result progress { done total }
    nodes { id kind status attempt handler queue startedAt completedAt attempts { number status } } } }";

pub(super) async fn measure(rig: &Rig) -> anyhow::Result<Vec<Figure>> {
    let api = rig.api()?;
    let one = look::fill_jobs(&rig.pool, JOBS, NODES).await?;
    let limit_per_s = floor(api).await?;
    let mut cursors = vec![Value::Null];
    for _ in 0..50 {
        let after = cursors.last().cloned().unwrap_or_default();
        let page = api.ask(LIST, json!({ "a": after })).await?;
        cursors.push(page["jobs"]["pageInfo"]["endCursor"].clone());
    }
    let statuses = [
        json!(null),
        json!(["FAILED"]),
        json!(["COMPLETED"]),
        json!(["RUNNING", "PENDING"]),
    ];
    let list = |i: usize| {
        let after = cursors.get(i % cursors.len()).cloned().unwrap_or_default();
        let status = statuses
            .get(i % statuses.len())
            .cloned()
            .unwrap_or_default();
        (LIST, json!({"a": after, "f": {"status": status}}))
    };
    let job = |_: usize| (JOB, json!({ "id": one }));
    let mut figures = Vec::new();
    for (bench, what) in [
        ("query-list", &list as &dyn Fn(usize) -> _),
        ("query-job", &job),
    ] {
        let start = now();
        let mut times: Vec<Duration> = stream::iter(0..REQUESTS)
            .map(|i| {
                let (query, variables) = what(i);
                timed(api, query, variables)
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let total_s = start.elapsed().as_secs_f64();
        times.sort_unstable();
        let memory = rig.memory()?;
        let rate_per_s = REQUESTS as f64 / total_s;
        let mut figure = Figure {
            bench,
            n: REQUESTS as u64,
            total_s,
            rate_per_s,
            p50_ms: percentile_ms(&times, 50),
            p99_ms: percentile_ms(&times, 99),
            limit_per_s,
            ratio: rate_per_s / limit_per_s,
            rss_mb: largest(&memory),
            ..Figure::default()
        };
        figure.also("jobs", json!(JOBS));
        figure.also(
            "limit",
            json!("GET /livez of the same process, as many at once"),
        );
        figures.push(figure);
    }
    Ok(figures)
}

async fn timed(api: &Api, query: &str, variables: Value) -> anyhow::Result<Duration> {
    let start = now();
    api.ask(query, variables).await?;
    Ok(start.elapsed())
}

/// How many answers per second HTTP itself gives.
async fn floor(api: &Api) -> anyhow::Result<f64> {
    let start = now();
    let mut asked = stream::iter(0..REQUESTS)
        .map(|_| api.livez())
        .buffer_unordered(AT_ONCE);
    while asked.try_next().await?.is_some() {}
    Ok(REQUESTS as f64 / start.elapsed().as_secs_f64())
}
