//! Callbacks to a receiver on this machine: a backlog is made first, and then let go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use domain::request::CallbackRef;
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::meter::{now, percentile_ms};
use super::rig::{Rig, plain_order};
use super::{Figure, largest, look, shapes};

const WORKFLOW: &str = "bench_callbacks";
/// Callers that submit at once.
const CALLERS: usize = 512;
/// Deliveries that a sender has under way to one endpoint.
const AT_ONCE: usize = 24;
/// Callbacks on an idle system, one after another.
const ONE_BY_ONE: u32 = 100;
/// A rate below this is as good as standing still.
const RATE_MIN: u32 = 50;

/// A receiver that counts, and holds its answers back until it is let go.
struct Receiver {
    received: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
    gate: watch::Sender<bool>,
    url: String,
    _serving: AbortOnDropHandle<()>,
}

#[derive(Clone)]
struct Shared {
    received: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
    gate: watch::Receiver<bool>,
}

pub(super) async fn measure(rig: &Rig, callbacks: u32) -> anyhow::Result<Vec<Figure>> {
    rig.register(&shapes::nothing(WORKFLOW)).await?;
    let receiver = Receiver::start().await?;
    let to = CallbackRef {
        timeout_seconds: Some(60),
        ..CallbackRef::to(receiver.url.as_str())
    };
    let deadline = Duration::from_secs(30 + u64::from(callbacks / RATE_MIN));
    let submit = || {
        let order = commands::submit::Order {
            callbacks: vec![to.clone()],
            ..plain_order(WORKFLOW)
        };
        rig.write.writer.submit(order)
    };
    let submits = (0..callbacks).map(|_| submit());
    let mut submits = futures_util::stream::iter(submits).buffer_unordered(CALLERS);
    while submits.try_next().await?.is_some() {}
    rig.all_done(deadline).await?;
    wait(rig, deadline, async || {
        Ok(look::callbacks(&rig.pool, "due").await? == i64::from(callbacks))
    })
    .await?;

    let start = now();
    receiver.gate.send_replace(true);
    delivered(rig, callbacks, deadline).await?;
    let total_s = start.elapsed().as_secs_f64();
    let received = receiver.received.load(Ordering::Relaxed);
    let rate_per_s = f64::from(callbacks) / total_s;
    for nth in 1..=ONE_BY_ONE {
        submit().await?;
        delivered(rig, callbacks + nth, deadline).await?;
    }
    let times = look::callback_delays(&rig.pool, ONE_BY_ONE).await?;
    let body_bytes = receiver.bytes.load(Ordering::Relaxed) / received.max(1);
    let limit_per_s = plain_per_s(&receiver, callbacks, usize::try_from(body_bytes)?).await?;
    let memory = rig.memory()?;
    let mut figure = Figure {
        bench: "callbacks",
        n: u64::from(callbacks),
        total_s,
        rate_per_s,
        p50_ms: percentile_ms(&times, 50),
        p99_ms: percentile_ms(&times, 99),
        limit_per_s,
        ratio: rate_per_s / limit_per_s,
        rss_mb: largest(&memory),
        ..Figure::default()
    };
    figure.also(
        "times",
        json!("from the end of a job to the call, one job after another"),
    );
    figure.also("received", json!(received));
    figure.also("body_bytes", json!(body_bytes));
    figure.also(
        "limit",
        json!(
            "bare requests of the same size to the same receiver, as many at once, without a log"
        ),
    );
    figure.also("rss_mb_by_role", json!(memory));
    Ok(vec![figure])
}

/// Waits until so many callbacks are delivered and settled.
async fn delivered(rig: &Rig, callbacks: u32, deadline: Duration) -> anyhow::Result<()> {
    wait(rig, deadline, async || {
        Ok(look::callbacks(&rig.pool, "delivered").await? == i64::from(callbacks))
    })
    .await
}

/// Waits for a condition; says what stands still when it does not come.
async fn wait(
    rig: &Rig,
    deadline: Duration,
    condition: impl AsyncFn() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let end = now() + deadline;
    while !condition().await? {
        if now() >= end {
            return Err(rig.stuck(deadline).await);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// What the machine does without us.
async fn plain_per_s(receiver: &Receiver, requests: u32, bytes: usize) -> anyhow::Result<f64> {
    // The process has none yet: its senders are in another one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let body = Bytes::from(vec![b'x'; bytes]);
    let before = receiver.received.load(Ordering::Relaxed);
    let start = now();
    let sends = (0..requests).map(|_| client.post(&receiver.url).body(body.clone()).send());
    let mut sends = futures_util::stream::iter(sends).buffer_unordered(AT_ONCE);
    while let Some(answer) = sends.next().await {
        answer?.error_for_status()?;
    }
    let total_s = start.elapsed().as_secs_f64();
    let received = receiver.received.load(Ordering::Relaxed) - before;
    anyhow::ensure!(
        received == u64::from(requests),
        "the receiver lost requests"
    );
    Ok(f64::from(requests) / total_s)
}

impl Receiver {
    async fn start() -> anyhow::Result<Self> {
        let (gate, seen) = watch::channel(false);
        let shared = Shared {
            received: Arc::default(),
            bytes: Arc::default(),
            gate: seen,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let router = Router::new()
            .route("/", post(take))
            .with_state(shared.clone());
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::warn!(%error, "the receiver of the bench ended");
            }
        });
        Ok(Self {
            received: shared.received,
            bytes: shared.bytes,
            gate,
            url,
            _serving: AbortOnDropHandle::new(serving),
        })
    }
}

async fn take(State(mut shared): State<Shared>, body: Bytes) {
    // Whoever opens it may be gone; then nobody counts any more either.
    let _ = shared.gate.wait_for(|open| *open).await;
    shared.received.fetch_add(1, Ordering::Relaxed);
    let bytes = u64::try_from(body.len()).unwrap_or(0);
    shared.bytes.fetch_add(bytes, Ordering::Relaxed);
}
