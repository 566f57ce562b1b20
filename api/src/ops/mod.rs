//! The operations face: is it alive, is it ready, what does it measure.
//!
//! - `GET /livez`: the process turns. Whoever restarts processes asks this.
//! - `GET /readyz`: work can be sent here. By progress, not by being up; every check with its reason.
//! - `GET /metrics`: Prometheus text. Numbers only: no ids, no organisations, nothing secret.
//!
//! All three answer without a key, cost next to nothing, and look at nothing that grows with the load: the
//! gauges come from the [`sampler`], every few seconds, however often somebody scrapes.

pub mod fleet;
pub mod http;
mod pulse;
mod ready;
mod recorder;
pub mod sampler;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use bus::Bus;
use metrics_exporter_prometheus::PrometheusHandle;
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::door::Door;
use pulse::Pulse;
pub use ready::{Check, Readiness};
pub use recorder::install;

/// Read models further behind than this must at least be catching up.
pub const LAG_EVENTS_MAX: i64 = 10_000;
/// A process whose tasks did not turn for so long is dead.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// What a process can say about itself.
pub struct Options {
    /// Workers have none.
    pub pool: Option<PgPool>,
    pub bus: Option<Bus>,
    /// Whether its answers rest on the read models.
    pub read_models: bool,
    pub lag_events_max: i64,
    pub metrics: PrometheusHandle,
}

/// The running checks of one process. Cheap to clone.
#[derive(Clone)]
pub struct Ops {
    ready: Arc<ready::Ready>,
    pulse: Arc<Pulse>,
    metrics: PrometheusHandle,
}

impl Ops {
    /// Starts to watch the process. From `leaving` on it is not ready; it watches until it is dropped.
    #[must_use]
    pub fn start(options: Options, leaving: CancellationToken) -> Self {
        let metrics = options.metrics.clone();
        let ready = Arc::new(ready::Ready::new(options, leaving));
        let pulse = Pulse::start(Arc::downgrade(&ready), metrics.clone());
        Self {
            ready,
            pulse,
            metrics,
        }
    }

    /// Whether work can be sent here, and why not.
    pub async fn readiness(&self) -> Readiness {
        self.ready.readiness().await
    }
}

/// The three routes.
pub fn router(ops: Ops) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(ops)
}

/// Answers on an address of its own until the end.
pub async fn serve(listener: TcpListener, ops: Ops, shutdown: CancellationToken) {
    Door::default().serve(listener, router(ops), shutdown).await;
}

async fn livez(State(ops): State<Ops>) -> Response {
    let silence = ops.pulse.silence();
    if silence <= SILENCE_MAX {
        return "alive\n".into_response();
    }
    let text = format!("nothing turned for {} s\n", silence.as_secs());
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}

async fn readyz(State(ops): State<Ops>) -> Response {
    let readiness = ops.readiness().await;
    let status = if readiness.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(readiness)).into_response()
}

async fn metrics(State(ops): State<Ops>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, ops.metrics.render()).into_response()
}
