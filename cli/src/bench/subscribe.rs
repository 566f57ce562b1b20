//! A thousand sockets that watch a hundred jobs: how long from the commit to each of them, and what an idle one
//! costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use commands::write::Writer;
use domain::id::JobId;
use futures_util::{SinkExt as _, StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::face::Api;
use super::meter::{megabytes, now, percentile_ms, resident_of};
use super::rig::Rig;
use super::{Figure, largest, shapes};

const SUBSCRIBERS: usize = 1_000;
const JOBS: usize = 100;
const EVENTS_PER_S: u64 = 500;
const SECONDS: u64 = 10;
/// Subscribers of each job.
const EACH: u64 = (SUBSCRIBERS / JOBS) as u64;
const WORKFLOW: &str = "bench_subscribe";
const QUERY: &str =
    "subscription($id: String!) { job(id: $id) { cursor event { type position recordedAt } } }";
/// How long the last messages may take.
const LAST: Duration = Duration::from_secs(10);

pub(super) async fn measure(rig: &Rig) -> anyhow::Result<Vec<Figure>> {
    let jobs = open_jobs(rig).await?;
    let before = resident_of(rig.pid("api")?)?;
    let (times_to, mut times_from) = mpsc::channel(100_000);
    let received = Arc::new(AtomicU64::new(0));
    let mut sockets = subscribe(rig.api()?, &jobs, times_to, &received).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = resident_of(rig.pid("api")?)?;

    let start = now();
    write(&rig.write.writer, &jobs).await?;
    let total_s = start.elapsed().as_secs_f64();
    let expected = EVENTS_PER_S * SECONDS * EACH;
    let arrived = async {
        while received.load(Ordering::Relaxed) < expected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(LAST, arrived).await;
    let count = received.load(Ordering::Relaxed);
    waited.with_context(|| format!("only {count} of {expected} messages arrived"))?;
    sockets.shutdown().await;
    let mut times = Vec::new();
    while let Some(time) = times_from.recv().await {
        times.push(time);
    }
    times.sort_unstable();
    let rate_per_s = count as f64 / total_s;
    let offered = (EVENTS_PER_S * EACH) as f64;
    let grown_kb = idle.saturating_sub(before) as f64 / 1_024.0;
    let mut figure = Figure {
        bench: "subscribe",
        n: count,
        total_s,
        rate_per_s,
        p50_ms: percentile_ms(&times, 50),
        p99_ms: percentile_ms(&times, 99),
        limit_per_s: offered,
        ratio: rate_per_s / offered,
        rss_mb: largest(&rig.memory()?),
        ..Figure::default()
    };
    figure.also("subscribers", json!(SUBSCRIBERS));
    figure.also("jobs", json!(JOBS));
    figure.also(
        "kb_per_idle_subscriber",
        json!(grown_kb / SUBSCRIBERS as f64),
    );
    figure.also("api_rss_mb", json!(megabytes(idle)));
    figure.also("limit", json!("messages that were there to be sent"));
    Ok(vec![figure])
}

/// Jobs that stay open, because nobody serves their queue.
async fn open_jobs(rig: &Rig) -> anyhow::Result<Vec<JobId>> {
    rig.register(&shapes::waiting(WORKFLOW)).await?;
    let mut jobs = Vec::new();
    for _ in 0..JOBS {
        jobs.push(rig.submit(WORKFLOW).await?.job_id);
    }
    for job in &jobs {
        // Refused as long as no orchestrator has taken it.
        while rig
            .write
            .writer
            .pause(*job, "bench", "bench")
            .await
            .is_err()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(jobs)
}

async fn subscribe(
    api: &Api,
    jobs: &[JobId],
    times: mpsc::Sender<Duration>,
    received: &Arc<AtomicU64>,
) -> anyhow::Result<JoinSet<()>> {
    let opening = jobs.iter().cycle().take(SUBSCRIBERS);
    let opening = stream::iter(opening.map(|job| open(api, job.to_string())));
    let mut opening = opening.buffer_unordered(50);
    let mut sockets = JoinSet::new();
    while let Some(socket) = opening.next().await {
        sockets.spawn(follow(socket?, times.clone(), Arc::clone(received)));
    }
    Ok(sockets)
}

/// Writes at an even rate, to one job after another.
async fn write(writer: &Writer, jobs: &[JobId]) -> anyhow::Result<()> {
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let mut resumes = true;
    let (mut written, mut turn) = (0, jobs.iter().copied());
    while written < EVENTS_PER_S * SECONDS {
        ticks.tick().await;
        let mut wishes = Vec::new();
        for _ in 0..EVENTS_PER_S / 50 {
            let job = match turn.next() {
                Some(job) => job,
                None => {
                    resumes = !resumes;
                    turn = jobs.iter().copied();
                    turn.next().context("there are jobs")?
                }
            };
            let resume = resumes;
            wishes.push(async move {
                match resume {
                    true => writer.resume(job, "bench").await,
                    false => writer.pause(job, "bench", "bench").await,
                }
            });
        }
        for done in futures_util::future::join_all(wishes).await {
            done?;
            written += 1;
        }
    }
    Ok(())
}

type Socket =
    tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

async fn open(api: &Api, job: String) -> anyhow::Result<Socket> {
    let mut request =
        format!("{}/graphql", api.url.replacen("http", "ws", 1)).into_client_request()?;
    let headers = request.headers_mut();
    headers.insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
    headers.insert("authorization", format!("Bearer {}", api.key).parse()?);
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await?;
    let hello = json!({"type": "connection_init"});
    let subscribe = json!({"id": "1", "type": "subscribe", "payload": {"query": QUERY, "variables": {"id": job}}});
    socket.send(Message::text(hello.to_string())).await?;
    socket.next().await.context("the API closed the socket")??;
    socket.send(Message::text(subscribe.to_string())).await?;
    Ok(socket)
}

/// Notes for each message how long it took from its commit.
#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark compares clocks of the same machine"
)]
async fn follow(mut socket: Socket, times: mpsc::Sender<Duration>, received: Arc<AtomicU64>) {
    while let Some(Ok(message)) = socket.next().await {
        let now = Utc::now();
        let Ok(text) = message.to_text() else {
            continue;
        };
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        if said["type"] == "ping" {
            let _ = socket.send(Message::text("{\"type\":\"pong\"}")).await;
            continue;
        }
        let at = &said["payload"]["data"]["job"]["event"]["recordedAt"];
        let at = at
            .as_str()
            .and_then(|at| DateTime::parse_from_rfc3339(at).ok());
        let Some(at) = at else { continue };
        received.fetch_add(1, Ordering::Relaxed);
        let _ = times.try_send((now - at.to_utc()).to_std().unwrap_or_default());
    }
}
