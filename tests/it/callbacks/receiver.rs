//! A partner's server, as good or as bad as the test wants it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// What was received.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) id: String,
    pub(crate) timestamp: String,
    pub(crate) signature: String,
    pub(crate) agent: String,
    pub(crate) body: String,
    /// What was answered; nothing if the answer was held back.
    pub(crate) answered: Option<u16>,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// How it answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mood {
    /// Always with this status.
    Always(u16),
    /// Only after so long.
    Slow(Duration),
    /// Of a hundred answers so many are errors, and of a thousand so many never come.
    Random { fail: u64, hang: u64 },
}

struct Shared {
    mood: Mutex<Mood>,
    received: Mutex<Vec<Received>>,
    /// The state of a small generator, so that a run can be repeated.
    seed: AtomicU64,
}

/// A server that runs until it is dropped.
pub(crate) struct Receiver {
    shared: Arc<Shared>,
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
}

impl Receiver {
    pub(crate) async fn start(mood: Mood) -> Self {
        let shared = Arc::new(Shared {
            mood: Mutex::new(mood),
            received: Mutex::default(),
            seed: AtomicU64::new(4),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut receiver = Self {
            shared,
            address: listener.local_addr().unwrap(),
            stop: CancellationToken::new(),
        };
        receiver.listen(listener);
        receiver
    }

    fn listen(&mut self, listener: TcpListener) {
        self.stop = CancellationToken::new();
        let router = Router::new()
            .route("/{*path}", post(take))
            .with_state(Arc::clone(&self.shared));
        let stop = self.stop.clone();
        // Not gracefully: connections break off in the middle.
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                _ = axum::serve(listener, router).into_future() => {}
            }
        });
    }

    /// Goes away, and comes back on the same port.
    pub(crate) async fn restart(&mut self, away: Duration) {
        self.stop.cancel();
        tokio::time::sleep(away).await;
        let listener = loop {
            if let Ok(listener) = TcpListener::bind(self.address).await {
                break listener;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        self.listen(listener);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hooks/strata?of=test", self.address)
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.shared.mood.lock().unwrap() = mood;
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.shared.received.lock().unwrap().len()
    }

    /// How often each id was answered well.
    pub(crate) fn accepted(&self) -> BTreeMap<String, usize> {
        let mut accepted = BTreeMap::new();
        for each in self.shared.received.lock().unwrap().iter() {
            if each.answered == Some(200) {
                *accepted.entry(each.id.clone()).or_default() += 1;
            }
        }
        accepted
    }

    /// One line per delivery, for programs that check signatures.
    pub(crate) fn dump(&self) -> String {
        let lines = self.received().into_iter().map(|r| {
            let line = json!({
                "id": r.id, "timestamp": r.timestamp, "signature": r.signature, "body": r.body,
            });
            format!("{line}\n")
        });
        lines.collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Shared {
    /// The next number below `bound`.
    fn chance(&self, bound: u64) -> u64 {
        let step = 6_364_136_223_846_793_005_u64;
        let next = |x: u64| Some(x.wrapping_mul(step).wrapping_add(1_442_695_040_888_963_407));
        let seed = self
            .seed
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, next);
        (seed.unwrap() >> 33) % bound
    }
}

async fn take(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| {
        let value = headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default().to_owned()
    };
    let mood = *shared.mood.lock().unwrap();
    let (answered, pause) = match mood {
        Mood::Always(status) => (Some(status), Duration::ZERO),
        Mood::Slow(pause) => (Some(200), pause),
        Mood::Random { hang, .. } if shared.chance(1_000) < hang => (None, Duration::from_secs(30)),
        Mood::Random { fail, .. } if shared.chance(100) < fail => (Some(500), Duration::ZERO),
        Mood::Random { .. } => (Some(200), Duration::ZERO),
    };
    let received = Received {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
        agent: header("user-agent"),
        body: String::from_utf8(body.to_vec()).unwrap(),
        answered,
    };
    shared.received.lock().unwrap().push(received);
    tokio::time::sleep(pause).await;
    StatusCode::from_u16(answered.unwrap_or(200)).unwrap()
}
