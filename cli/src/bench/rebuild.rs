//! A rebuild of all read models while the platform runs, and what small jobs notice of it.
//!
//! The log is made by the domain: jobs that fan out, each with its request, many side by side. What it is held against
//! is reading the same events in order, range by range, in the same run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use commands::log::{Append, Expected, Meta};
use commands::write::fresh_id;
use domain::event::Event;
use domain::handler::Catalog;
use domain::id::{JobId, RequestId};
use domain::request::{self, Submission};
use futures_util::TryStreamExt as _;
use projections::rebuild::{self, Options, Outcome, Progress};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::fixture::{context, graph, workflow};
use super::fold::history;
use super::meter::{megabytes, now, percentile_ms, resident_bytes};
use super::rig::Rig;
use super::{Figure, fanout, limit, look, read, shapes};

/// Tasks of one job.
const CHILDREN: u32 = 8;
/// Jobs whose events come mixed, and how many of each job come together.
const SIDE_BY_SIDE: usize = 64;
const TOGETHER: usize = 4;
/// Small jobs that are run beside it.
const SMALL: u32 = 300;
const DEADLINE: Duration = Duration::from_secs(900);
/// How often the memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(super) async fn measure(rig: &Rig, events: u32) -> anyhow::Result<Vec<Figure>> {
    make_log(rig, u64::from(events)).await?;
    let head = projections::read::head(&rig.pool).await?;
    projections::read::wait_for(&rig.pool, head, DEADLINE).await?;
    read::settle(&rig.pool).await?;
    // Twice, and the better one: the first may have to fetch it from the disk.
    let limits = [
        limit::read_in_order(&rig.pool).await?,
        limit::read_in_order(&rig.pool).await?,
    ];
    let limit_per_s = limits.into_iter().fold(0.0, f64::max);
    let alone = small(rig, "bench_before").await?;
    let mut figure = rebuilt(rig).await?;
    figure.limit_per_s = limit_per_s;
    figure.ratio = figure.rate_per_s / limit_per_s;
    figure.also("limit", json!("the same events read in order"));
    let mut beside = beside(rig).await?;
    beside.limit_per_s = alone;
    beside.ratio = beside.rate_per_s / alone;
    beside.also("limit", json!("the same small jobs without a rebuild"));
    Ok(vec![figure, beside])
}

/// One rebuild on a platform that has nothing else to do.
async fn rebuilt(rig: &Rig) -> anyhow::Result<Figure> {
    let head = projections::read::head(&rig.pool).await?;
    let memory_before = megabytes(resident_bytes()?);
    let mut memory = Vec::new();
    let mut phases: BTreeMap<&str, f64> = BTreeMap::new();
    let (progress, seen) = watch::channel(Progress::default());
    let start = now();
    let mut looked = start;
    let mut running = Box::pin(run(rig, progress));
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended?,
            () = tokio::time::sleep(LOOK_EVERY) => {
                memory.push(megabytes(resident_bytes()?));
                let phase = seen.borrow().phase.word();
                *phases.entry(phase).or_default() += looked.elapsed().as_secs_f64();
                looked = now();
            }
        }
    };
    let total_s = start.elapsed().as_secs_f64();
    anyhow::ensure!(
        matches!(ended, Outcome::Switched { .. }),
        "the rebuild ended with {ended:?}"
    );
    let most = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
    let (first, second) = memory.split_at(memory.len() / 2);
    let mut figure = Figure {
        bench: "rebuild",
        n: u64::try_from(head)?,
        total_s,
        rate_per_s: head as f64 / total_s,
        rss_mb: most(&memory),
        ..Figure::default()
    };
    figure.also("rss_before_mb", json!(memory_before));
    figure.also("rss_first_half_mb", json!(most(first)));
    figure.also("rss_second_half_mb", json!(most(second)));
    figure.also("phases_s", json!(phases));
    Ok(figure)
}

async fn run(rig: &Rig, progress: watch::Sender<Progress>) -> anyhow::Result<Outcome> {
    let options = Options::new(rig.pool.clone(), fresh_id(), Arc::new(Catalog::shipped()));
    Ok(rebuild::run(options, progress, CancellationToken::new()).await?)
}

/// One rebuild after the other; ends only with an error.
async fn again_and_again(rig: &Rig) -> anyhow::Result<f64> {
    loop {
        run(rig, watch::channel(Progress::default()).0).await?;
    }
}

/// Small jobs while one rebuild follows the other.
async fn beside(rig: &Rig) -> anyhow::Result<Figure> {
    let start = now();
    let rate_per_s = tokio::select! {
        rate = small(rig, "bench_beside") => rate?,
        ended = again_and_again(rig) => ended?,
    };
    let times = look::job_times(&rig.pool, "bench_beside").await?;
    Ok(Figure {
        bench: "rebuild-beside",
        n: u64::from(SMALL),
        total_s: start.elapsed().as_secs_f64(),
        rate_per_s,
        p50_ms: percentile_ms(&times, 50),
        p99_ms: percentile_ms(&times, 99),
        rss_mb: megabytes(resident_bytes()?),
        ..Figure::default()
    })
}

/// Jobs of one task per second.
async fn small(rig: &Rig, workflow: &'static str) -> anyhow::Result<f64> {
    rig.register(&shapes::one(workflow)).await?;
    let start = now();
    let submits: futures_util::stream::FuturesUnordered<_> =
        (0..SMALL).map(|_| rig.submit(workflow)).collect();
    submits.try_collect::<Vec<_>>().await?;
    fanout::until(rig, DEADLINE, async || {
        Ok(look::job_times(&rig.pool, workflow).await?.len() == usize::try_from(SMALL)?)
    })
    .await?;
    Ok(f64::from(SMALL) / start.elapsed().as_secs_f64())
}

/// Appends lives of jobs until there are so many events.
async fn make_log(rig: &Rig, events: u64) -> anyhow::Result<()> {
    let params = json!({ "index": "{{ index }}" });
    rig.register(&workflow(1, CHILDREN, &params)).await?;
    let life = history(&graph(1, CHILDREN, &params)?)?;
    let appender = &rig.write.writer.appender;
    let mut made = 0;
    while made < events {
        let jobs: Vec<RequestId> = (0..SIDE_BY_SIDE)
            .map(|_| RequestId::from_key("bench", &fresh_id().to_string()))
            .collect();
        let mut group = Vec::new();
        for request in &jobs {
            group.push(requested(*request));
        }
        made += appended(appender, &group).await?;
        for (nth, slice) in life.chunks(TOGETHER).enumerate() {
            let group: Vec<Append> = jobs
                .iter()
                .map(|request| lived(*request, nth * TOGETHER, slice, life.len()))
                .collect();
            made += appended(appender, &group).await?;
        }
    }
    Ok(())
}

async fn appended(
    appender: &commands::appender::Appender,
    group: &[Append],
) -> anyhow::Result<u64> {
    appender.append(group).await?;
    Ok(group.iter().map(|append| append.events.len() as u64).sum())
}

fn requested(request_id: RequestId) -> Append {
    let at = context().now;
    let submission = Submission {
        request_id,
        org_id: "default".to_owned(),
        platform_id: "strata".to_owned(),
        asset_id: None,
        refs: domain::platform::Refs::default(),
        workflow_id: "bench".to_owned(),
        workflow_version: Some(1),
        inputs: serde_json::Map::new(),
        priority: domain::priority::Priority::Normal,
        retry_of: None,
        forked_from: None,
        callbacks: Vec::new(),
        body_hash: "bench".to_owned(),
    };
    let submitted = request::Event::RequestSubmitted {
        submission: Box::new(submission),
        at,
    };
    let assigned = request::Event::JobAssigned {
        job_id: JobId::of_request(request_id),
        at,
    };
    let events = vec![Event::Request(submitted), Event::Request(assigned)];
    append(format!("request:{request_id}"), 0, events, false)
}

fn lived(request_id: RequestId, before: usize, slice: &[domain::job::Event], all: usize) -> Append {
    let job_id = JobId::of_request(request_id);
    let mine = |event: &domain::job::Event| match event {
        domain::job::Event::JobCreated(created) => {
            let mut created = created.clone();
            (created.job_id, created.request_id) = (job_id, request_id);
            domain::job::Event::JobCreated(created)
        }
        other => other.clone(),
    };
    let events = slice.iter().map(mine).map(Event::Job).collect();
    append(
        format!("job:{job_id}"),
        before as u64,
        events,
        before + slice.len() == all,
    )
}

fn append(stream: String, version: u64, events: Vec<Event>, closes: bool) -> Append {
    Append {
        meta: Meta {
            actor: "bench".to_owned(),
            command_id: fresh_id(),
            correlation: Some(stream.clone()),
            causation: None,
            trace: None,
        },
        stream,
        expected: Expected::Version(version),
        org_id: "default".to_owned(),
        events,
        open_job: None,
        closes,
    }
}
