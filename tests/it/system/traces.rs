//! Trace context: from a submission through the log and NATS to the worker, and out to a collector.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use domain::message::TaskMessage;
use domain::trace::TraceParent;
use rustix::process::Signal;
use tokio::net::TcpListener;

use super::rig::{Rig, WORKER};

const DEADLINE: Duration = Duration::from_secs(60);
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

type Received = Arc<Mutex<Vec<Bytes>>>;

/// A collector of traces: keeps the bodies that it is sent.
async fn collector() -> (String, Received) {
    let received = Received::default();
    let take = async |State(received): State<Received>, body: Bytes| {
        received.lock().unwrap().push(body);
    };
    let router = Router::new()
        .route("/v1/traces", post(take))
        .with_state(received.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, received)
}

/// How often some bytes are in what was received.
fn count(received: &Received, needle: &[u8]) -> usize {
    let bodies = received.lock().unwrap();
    let windows = bodies.iter().flat_map(|body| body.windows(needle.len()));
    windows.filter(|window| *window == needle).count()
}

/// The first message in the queue.
async fn first_message(rig: &Rig) -> TaskMessage {
    let stream = rig.bus().tasks_stream().await.unwrap();
    let there = async || {
        let mut stream = stream.clone();
        stream
            .info()
            .await
            .is_ok_and(|info| info.state.messages == 1)
    };
    rig.eventually("a task is in the queue", DEADLINE, there)
        .await;
    let mut info = stream.clone();
    let seq = info.info().await.unwrap().state.first_sequence;
    let message = stream.get_raw_message(seq).await.unwrap();
    serde_json::from_slice(&message.payload).unwrap()
}

/// Events of a stream whose meta names the trace, and all.
async fn traced(rig: &Rig, stream: String) -> (i64, i64) {
    sqlx::query_as(
        "select count(*) filter (where convert_from(meta, 'UTF8')::jsonb ->> 'trace' = $2), count(*)
         from dagapp.events where stream_id = $1",
    )
    .bind(stream)
    .bind(TRACE)
    .fetch_one(&rig.pool)
    .await
    .unwrap()
}

#[tokio::test]
async fn the_trace_of_a_submission_reaches_the_worker_and_the_collector() {
    let rig = Rig::new("traced").await;
    let (collector, received) = collector().await;
    let first = rig.orchestrator(&[]);
    let submitted = rig.submit_traced("chain", TRACE).await;
    let message = first_message(&rig).await;
    assert_eq!(message.traceparent.as_deref(), Some(TRACE));
    // Whoever takes the job over reads the trace from the log.
    first.signal(Signal::KILL);
    let _heir = rig.orchestrator(&[]);
    let long = "60000";
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector),
        // So that only the end of the process can be what sends the spans.
        ("OTEL_BSP_SCHEDULE_DELAY", long),
    ];
    let args = [WORKER, &["--log-level", "debug"]].concat();
    let worker = rig.spawn("worker", &args, &env);
    rig.all_ended(DEADLINE).await;

    let trace: TraceParent = TRACE.parse().unwrap();
    assert!(worker.says(&trace.trace_hex()), "{}", worker.log.display());
    assert!(worker.says(&format!("job.id={}", submitted.job_id)));
    assert_eq!(count(&received, &trace.trace_id().to_be_bytes()), 0);
    assert_eq!(worker.terminate(DEADLINE).await, Some(0));
    // One span for each of the five tasks, each a child of the span that was named.
    assert_eq!(count(&received, &trace.trace_id().to_be_bytes()), 5);
    assert_eq!(count(&received, &trace.span_id().to_be_bytes()), 5);

    let (with, all) = traced(&rig, format!("job:{}", submitted.job_id)).await;
    assert_eq!(with, all);
    assert!(all > 10);
    let (with, all) = traced(&rig, format!("request:{}", submitted.request_id)).await;
    assert_eq!((with, all), (2, 2));
}

#[tokio::test]
async fn what_is_no_trace_is_left_out_and_the_job_has_one_of_its_own() {
    let rig = Rig::new("untraced").await;
    let _orchestrator = rig.orchestrator(&[]);
    let submitted = rig.submit_traced("one", "00-not-a-trace\n").await;
    let message = first_message(&rig).await;
    let trace: TraceParent = message.traceparent.unwrap().parse().unwrap();
    assert_eq!(trace.trace_id(), submitted.job_id.uuid().as_u128());
    let hits = rig
        .count("select count(*) from dagapp.events where convert_from(meta, 'UTF8') like '%trace%'")
        .await;
    assert_eq!(hits, 0);
}
