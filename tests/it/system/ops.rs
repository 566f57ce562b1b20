//! Health and metrics, of real processes and of the face that the API mounts.

use std::net::SocketAddr;
use std::time::Duration;

use api::ops::{self, Ops, fleet::Fleet, sampler};
use serde_json::{Value, json};
use sqlx::postgres::PgPoolOptions;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::http::{get, metric};
use super::rig::{ORCHESTRATOR, Process, Rig, WORKER};

const DEADLINE: Duration = Duration::from_secs(60);
const OPS: &[&str] = &["--ops-listen", "127.0.0.1:0"];

/// Where a process serves its health.
async fn address_of(rig: &Rig, process: &Process) -> SocketAddr {
    let found = async || process.after("health and metrics on http://").is_some();
    rig.eventually("an address", DEADLINE, found).await;
    let address = process.after("health and metrics on http://").unwrap();
    address.parse().unwrap()
}

/// The routes on an address of their own, over these options.
async fn face(options: ops::Options) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let never = CancellationToken::new();
    let watched = Ops::start(options, never.clone());
    tokio::spawn(ops::serve(listener, watched, never));
    address
}

fn check(body: &str, name: &str) -> Value {
    let shown: Value = serde_json::from_str(body).unwrap();
    let checks = shown["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {body}"))
        .clone()
}

#[tokio::test]
async fn a_worker_and_an_orchestrator_show_that_they_work() {
    let rig = Rig::new("ops_roles").await;
    let orchestrator = rig.spawn("orchestrator", &[ORCHESTRATOR, OPS].concat(), &[]);
    let places: &[&str] = &["--concurrency", "4"];
    let worker = rig.spawn("worker", &[WORKER, OPS, places].concat(), &[]);
    let projector = rig.spawn("projector", OPS, &[]);
    let (boss, hand) = (
        address_of(&rig, &orchestrator).await,
        address_of(&rig, &worker).await,
    );
    let mut job = rig.submit("doomed", json!({})).await.job_id;
    for _ in 0..3 {
        job = rig.submit("chain", json!({})).await.job_id;
    }
    rig.all_ended(DEADLINE).await;

    let done = async || {
        let text = get(hand, "/metrics").await.1;
        metric(&text, "strata_tasks_completed_total", "") >= 15.0
    };
    rig.eventually("15 tasks are counted", DEADLINE, done).await;
    let text = get(hand, "/metrics").await.1;
    assert!(
        metric(&text, "strata_tasks_started_total", "") >= 16.0,
        "{text}"
    );
    let failed = metric(&text, "strata_tasks_failed_total", "class=\"permanent\"");
    assert!((failed - 1.0).abs() < 1e-9, "{text}");
    assert!(metric(&text, "strata_task_duration_seconds_count", "") >= 16.0);

    let text = get(boss, "/metrics").await.1;
    let published = metric(&text, "strata_dispatch_published_total", "");
    assert!(published >= 16.0, "{text}");
    let before = metric(&text, "strata_append_batch_events_sum", "");
    assert!(before > 16.0, "{text}");
    assert!(metric(&text, "strata_append_duration_seconds_count", "") > 0.0);
    for secret in ["acme", &job.to_string()] {
        assert!(!text.contains(secret), "{secret} is in\n{text}");
    }
    rig.submit("chain", json!({})).await;
    rig.all_ended(DEADLINE).await;
    let text = get(boss, "/metrics").await.1;
    assert!(metric(&text, "strata_append_batch_events_sum", "") > before);

    let shows = address_of(&rig, &projector).await;
    let text = get(shows, "/metrics").await.1;
    assert!(
        metric(&text, "strata_projector_batch_events_count", "") > 0.0,
        "{text}"
    );
    for address in [boss, hand, shows] {
        assert_eq!(get(address, "/livez").await, (200, "alive\n".to_owned()));
        let ready = async || get(address, "/readyz").await.0 == 200;
        rig.eventually("all are ready", DEADLINE, ready).await;
    }
    let body = get(hand, "/readyz").await.1;
    assert_eq!(check(&body, "nats")["ok"], true);
    assert!(!body.contains("database"), "a worker has none: {body}");
}

#[tokio::test]
async fn a_process_is_not_ready_while_the_read_models_fall_behind() {
    let rig = Rig::new("ops_lag").await;
    let projector = rig.projector();
    let face = face(ops::Options {
        pool: Some(rig.pool.clone()),
        bus: Some(rig.bus().clone()),
        read_models: true,
        lag_events_max: 20,
        metrics: ops::install().unwrap(),
    })
    .await;
    let ready = async || get(face, "/readyz").await.0 == 200;
    rig.eventually("it is ready", DEADLINE, ready).await;
    let body = get(face, "/readyz").await.1;
    for name in ["nats", "database", "schema", "log", "read models"] {
        assert_eq!(check(&body, name)["ok"], true, "{body}");
    }

    projector.terminate(DEADLINE).await;
    for _ in 0..40 {
        rig.submit("nothing", json!({})).await;
    }
    let refused = async || get(face, "/readyz").await.0 == 503;
    rig.eventually("it is not ready", DEADLINE, refused).await;
    let body = get(face, "/readyz").await.1;
    let reason = check(&body, "read models");
    assert_eq!(reason["ok"], false, "{body}");
    let text = reason["detail"].as_str().unwrap();
    assert!(text.contains("not catching up"), "{text}");
    assert_eq!(check(&body, "database")["ok"], true, "{body}");

    let _projector = rig.projector();
    rig.eventually("it is ready again", DEADLINE, ready).await;
}

#[tokio::test]
async fn a_process_is_not_ready_without_database_and_nats() {
    let rig = Rig::private("ops_away").await;
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .acquire_timeout(Duration::from_secs(1))
        .connect(&rig.database_url)
        .await
        .unwrap();
    let face = face(ops::Options {
        pool: Some(pool),
        bus: Some(rig.bus().clone()),
        read_models: false,
        lag_events_max: 20,
        metrics: ops::install().unwrap(),
    })
    .await;
    let (status, body) = get(face, "/readyz").await;
    assert_eq!(status, 200, "{body}");
    rig.stop_services().await;
    let end = tokio::time::Instant::now() + DEADLINE;
    let body = loop {
        let (status, body) = get(face, "/readyz").await;
        let is_down = |name| check(&body, name)["ok"] == false;
        if status == 503 && is_down("database") && is_down("nats") {
            break body;
        }
        assert!(tokio::time::Instant::now() < end, "{body}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    };
    assert!(!body.contains("postgres"), "no addresses in {body}");
    // It still turns: restarting it would help nobody.
    assert_eq!(get(face, "/livez").await.0, 200);
}

#[tokio::test]
async fn the_sampler_shows_what_no_single_process_knows() {
    let rig = Rig::new("ops_sampler").await;
    let metrics = ops::install().unwrap();
    let never = CancellationToken::new();
    let fleet = Fleet::listen(rig.bus().clone(), never.clone());
    sampler::start(rig.pool.clone(), rig.bus().clone(), fleet.clone(), never);
    let _roles = (rig.orchestrator(&[]), rig.worker(3, &[]), rig.projector());
    let heard = async || !fleet.workers().is_empty();
    rig.eventually("the worker is heard", DEADLINE, heard).await;
    let first = async || metric(&metrics.render(), "strata_log_head_position", "") > 0.0;
    rig.eventually("a first look", DEADLINE, first).await;
    for _ in 0..4 {
        rig.submit("elsewhere", json!({})).await;
    }
    rig.submit("chain", json!({})).await;
    rig.submit("doomed", json!({})).await;

    let shown = async |name: &str, label: &str, least: f64| {
        let enough = async || metric(&metrics.render(), name, label) >= least;
        rig.eventually(name, DEADLINE, enough).await;
    };
    shown("strata_sampler_up", "", 1.0).await;
    shown("strata_workers", "", 1.0).await;
    shown("strata_worker_slots", "queue=\"functionapp-tasks\"", 3.0).await;
    shown("strata_orchestrators_alive", "", 1.0).await;
    shown("strata_log_partitions_ahead", "", 1.0).await;
    shown("strata_log_events_total", "type=\"node_completed\"", 5.0).await;
    shown("strata_log_task_failures_total", "class=\"permanent\"", 1.0).await;
    // Nobody serves the queue: what is published waits, and grows old. The window of a queue without
    // workers is small.
    shown("strata_queue_depth_tasks", "queue=\"far-away\"", 1.0).await;
    shown("strata_queue_oldest_age_seconds", "queue=\"far-away\"", 0.1).await;
    let text = metrics.render();
    assert!(
        (metric(&text, "strata_jobs_open", "") - 4.0).abs() < 1e-9,
        "{text}"
    );
    assert!(metric(&text, "strata_projector_lag_events", "") < 100.0);
    assert!(metric(&text, "strata_projector_heartbeat_age_seconds", "") < 10.0);
    assert!(metric(&text, "strata_callback_backlog_deliveries", "").abs() < 1e-9);
    assert!(!text.contains("acme"), "{text}");
    let waiting = ops::fleet::queues(rig.bus()).await.unwrap();
    let far = waiting
        .iter()
        .find(|lane| lane.queue == "far-away")
        .unwrap();
    assert!(far.pending >= 1 && far.in_flight == 0 && far.oldest_age.is_some());
}
