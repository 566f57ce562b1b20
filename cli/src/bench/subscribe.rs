//! A thousand sockets that watch a hundred jobs: how long from the commit to each of them, and what an idle one
//! costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
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
const WORKFLOW: &str = "bench_subscribe";
const QUERY: &str = "subscription($id: String!) { job(id: $id) { cursor event { type position recordedAt } } }";
/// How long the last messages may take.
const LAST: Duration = Duration::from_secs(10);

pub(super) async fn measure(rig: &Rig) -> anyhow::Result<Vec<Figure>> {
    let api = rig.api()?;
    // Nobody serves the queue, so that the jobs stay open.
    rig.register(&shapes::waiting(WORKFLOW)).await?;
    let mut jobs = Vec::new();
    for _ in 0..JOBS {
        jobs.push(rig.submit(WORKFLOW).await?.job_id);
    }
    let writer = &rig.write.writer;
    for job in &jobs {
        while writer.pause(*job, "bench", "bench").await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let before = resident_of(rig.pid("api")?)?;
    let (times_to, mut times_from) = mpsc::channel(100_000);
    let received = Arc::new(AtomicU64::new(0));
    let mut sockets = JoinSet::new();
    let opening = stream::iter(0..SUBSCRIBERS).map(|i| {
        let job = jobs.get(i % JOBS).map(ToString::to_string).unwrap_or_default();
        open(api, job)
    });
    let mut opening = opening.buffer_unordered(50);
    while let Some(socket) = opening.next().await {
        let (times, received) = (times_to.clone(), Arc::clone(&received));
        sockets.spawn(follow(socket?, times, received));
    }
    drop((opening, times_to));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = resident_of(rig.pid("api")?)?;
    let per_subscriber_kb = idle.saturating_sub(before) as f64 / 1_024.0 / SUBSCRIBERS as f64;

    let start = now();
    let total = EVENTS_PER_S * SECONDS;
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let per_tick = EVENTS_PER_S / 50;
    let mut written = 0;
    while written < total {
        ticks.tick().await;
        let some = (written..(written + per_tick).min(total)).filter_map(|n| {
            let job = *jobs.get(usize::try_from(n).ok()? % JOBS)?;
            let resume = (n / JOBS as u64).is_multiple_of(2);
            Some(async move {
                if resume {
                    writer.resume(job, "bench").await
                } else {
                    writer.pause(job, "bench", "bench").await
                }
            })
        });
        for done in futures_util::future::join_all(some).await {
            done?;
        }
        written += per_tick;
    }
    let total_s = start.elapsed().as_secs_f64();
    let expected = total * (SUBSCRIBERS / JOBS) as u64;
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
    let memory = rig.memory()?;
    let rate_per_s = count as f64 / total_s;
    let offered = (EVENTS_PER_S * (SUBSCRIBERS / JOBS) as u64) as f64;
    let mut figure = Figure {
        bench: "subscribe",
        n: count,
        total_s,
        rate_per_s,
        p50_ms: percentile_ms(&times, 50),
        p99_ms: percentile_ms(&times, 99),
        limit_per_s: offered,
        ratio: rate_per_s / offered,
        rss_mb: largest(&memory),
        ..Figure::default()
    };
    figure.also("subscribers", json!(SUBSCRIBERS));
    figure.also("jobs", json!(JOBS));
    figure.also("events_per_s", json!(total as f64 / total_s));
    figure.also("kb_per_idle_subscriber", json!(per_subscriber_kb));
    figure.also("api_rss_mb", json!(megabytes(idle)));
    figure.also("limit", json!("messages that were there to be sent"));
    Ok(vec![figure])
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

async fn open(api: &Api, job: String) -> anyhow::Result<Socket> {
    let mut request = format!("{}/graphql", api.url.replacen("http", "ws", 1)).into_client_request()?;
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
#[expect(clippy::disallowed_methods, reason = "a benchmark compares clocks of the same machine")]
async fn follow(mut socket: Socket, times: mpsc::Sender<Duration>, received: Arc<AtomicU64>) {
    while let Some(Ok(message)) = socket.next().await {
        let now = Utc::now();
        let Ok(text) = message.to_text() else { continue };
        let said: Value = serde_json::from_str(text).unwrap_or_default();
        if said["type"] == "ping" {
            let _ = socket.send(Message::text("{\"type\":\"pong\"}")).await;
            continue;
        }
        let at = &said["payload"]["data"]["job"]["event"]["recordedAt"];
        let at = at.as_str().and_then(|at| DateTime::parse_from_rfc3339(at).ok());
        let Some(at) = at else { continue };
        received.fetch_add(1, Ordering::Relaxed);
        let _ = times.try_send((now - at.to_utc()).to_std().unwrap_or_default());
    }
}
