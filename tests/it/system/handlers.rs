//! Handlers and the runtime around them: outputs, queues, priorities, checkpoints, panics, large results.

use std::time::Duration;

use domain::failure::Failure;
use domain::message::QueueSlots;
use serde_json::{Value, json};
use sqlx::Row;
use tokio_util::sync::CancellationToken;
use workers::{BlockingHandler, Context, Done, Registry, Timing};

use super::invariants;
use super::rig::{Process, Rig};

const DEADLINE: Duration = Duration::from_secs(60);

/// The output of a node of a job, once the read models show it.
async fn output(rig: &Rig, job: domain::id::JobId, node: &str) -> Value {
    let head = projections::read::head(&rig.pool).await.unwrap();
    projections::read::wait_for(&rig.pool, head, DEADLINE)
        .await
        .unwrap();
    let row =
        sqlx::query("select output from dagapp.dag_node_states where job_id = $1 and node_id = $2")
            .bind(job.to_string())
            .bind(node)
            .fetch_one(&rig.pool)
            .await
            .unwrap();
    row.get(0)
}

#[tokio::test]
async fn every_handler_for_tests_does_what_it_is_for() {
    let rig = Rig::new("handlers").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(8, &[]), rig.projector());
    let job = rig.submit("handlers", json!({})).await.job_id;
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.end_of(job).await.as_deref(), Some("job_completed"));
    let cases = [
        ("echo", "/echoed_params/any", json!([1, {"two": 3}])),
        ("hello", "/greeting", json!("Hello, Ada!")),
        ("phases", "/phases_completed", json!(3)),
        ("size", "/category", json!("heavy")),
        ("chunk", "/processed", json!(3)),
        ("flaky", "/attempts", json!(1)),
    ];
    for (node, field, expected) in cases {
        let output = output(&rig, job, node).await;
        assert_eq!(output.pointer(field), Some(&expected), "{node}: {output}");
    }
    invariants::check(&rig).await;
}

#[tokio::test]
async fn a_task_goes_to_its_queue_and_only_to_workers_that_serve_it() {
    let rig = Rig::new("queues").await;
    let _roles = (rig.orchestrator(&[]), rig.projector());
    let light = rig.spawn("worker", &["--profile", "light"], &[]);
    let heavy = rig
        .submit("choice", json!({"size": 5_000_000_000_u64}))
        .await;
    let far = rig.submit("elsewhere", json!({})).await;
    let waits = async || rig.events("node_dispatched").await == 3;
    rig.eventually("all are sent", DEADLINE, waits).await;
    // A light job goes through meanwhile; the others wait for their own workers.
    let other = rig.submit("one", json!({})).await;
    let ended = async || rig.end_of(other.job_id).await.is_some();
    rig.eventually("a light job ends", DEADLINE, ended).await;
    assert_eq!(rig.end_of(heavy.job_id).await, None);
    let _heavy = rig.spawn("worker", &["--profile", "heavy"], &[]);
    let ended = async || rig.end_of(heavy.job_id).await.is_some();
    rig.eventually("the heavy job ends", DEADLINE, ended).await;
    assert_eq!(rig.end_of(far.job_id).await, None);
    let args = ["--queues", "far-away=1", "--idle-timeout", "500ms"];
    let mut idle = rig.spawn("worker", &args, &[]);
    rig.all_ended(DEADLINE).await;
    let end = tokio::time::Instant::now() + DEADLINE;
    while idle.is_running() {
        assert!(tokio::time::Instant::now() < end, "it leaves when idle");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(Process::terminate(light, DEADLINE).await, Some(0));
    invariants::check(&rig).await;
}

#[tokio::test]
async fn what_is_urgent_comes_first_and_the_rest_is_not_starved() {
    let rig = Rig::new("priorities").await;
    let _roles = (rig.orchestrator(&[]), rig.projector());
    for _ in 0..30 {
        rig.submit("low", json!({})).await;
        rig.submit("high", json!({})).await;
    }
    let stream = rig.bus().tasks_stream().await.unwrap();
    let all_there = async || {
        let mut stream = stream.clone();
        stream
            .info()
            .await
            .is_ok_and(|info| info.state.messages == 60)
    };
    rig.eventually("all wait in the queue", DEADLINE, all_there)
        .await;
    let _worker = rig.worker(1, &[]);
    rig.all_ended(DEADLINE).await;
    let done: Vec<String> = sqlx::query_scalar(
        "select w.payload::jsonb ->> 'priority' from dagapp.events e
         cross join lateral (select convert_from(c.payload, 'UTF8') as payload from dagapp.events c
                             where c.stream_id = e.stream_id and c.type = 'job_created') w
         where e.type = 'node_completed' order by e.pos",
    )
    .fetch_all(&rig.pool)
    .await
    .unwrap();
    let high_first = done.iter().take(27).filter(|p| *p == "high").count();
    // 8 of 9 turns, with both waiting.
    assert!(
        (22..=26).contains(&high_first),
        "{high_first} of 27: {done:?}"
    );
    invariants::check(&rig).await;
}

#[tokio::test]
async fn a_phase_whose_artifact_is_gone_is_done_again() {
    let rig = Rig::new("artifacts").await;
    let _roles = (rig.orchestrator(&[]), rig.projector());
    let first = rig.worker(2, &[]);
    let job = rig.submit("long", json!({})).await.job_id;
    let saved = async || rig.events("checkpoint_saved").await >= 3;
    rig.eventually("it has checkpoints", DEADLINE, saved).await;
    drop(first); // killed
    let before = rig.events("checkpoint_saved").await;
    let outputs = rig.dir.join("store/outputs");
    let runs = std::fs::read_dir(outputs).unwrap().flatten();
    let task = runs.map(|entry| entry.path()).find(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&job.to_string()))
    });
    let run = std::fs::read_dir(task.unwrap()).unwrap().flatten().next();
    let latest = run
        .unwrap()
        .path()
        .join(format!("phase-{}.json", before - 1));
    std::fs::remove_file(latest).unwrap();
    let _second = rig.worker(2, &[]);
    rig.all_ended(DEADLINE).await;
    let found = output(&rig, job, "work").await;
    assert_eq!(found, json!({"phases_completed": 12, "resumed": true}));
    // The lost one once more, and the rest: nothing else was done twice.
    assert_eq!(rig.events("checkpoint_saved").await, 12 + 1);
    invariants::check(&rig).await;
}

#[tokio::test]
async fn a_large_output_is_kept_by_reference_with_its_hash() {
    let rig = Rig::new("large").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(2, &[]), rig.projector());
    let message = "x".repeat(200_000);
    let job = rig.submit("one", json!({"message": message})).await.job_id;
    rig.all_ended(DEADLINE).await;
    let found = output(&rig, job, "only").await;
    assert_eq!(found["status"], "stored_externally", "{found}");
    assert!(found.to_string().len() < 5_000, "the event is small");
    let path = found["result_path"].as_str().unwrap();
    let text = std::fs::read(rig.dir.join("store").join(path)).unwrap();
    let external: Value = sqlx::query_scalar(
        "select external from dagapp.dag_node_states where job_id = $1 and node_id = 'only'",
    )
    .bind(job.to_string())
    .fetch_one(&rig.pool)
    .await
    .unwrap();
    assert_eq!(external["sha256"], domain::json::sha256_hex(&text));
    let whole: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(whole["echoed_params"]["message"], message);
    // Its template read what is not inline, which fails with a reason instead of half a value.
    assert_eq!(rig.end_of(job).await.as_deref(), Some("job_failed"));
    invariants::check(&rig).await;
}

/// Panics, under the name of a declared handler.
struct Panics;

impl BlockingHandler for Panics {
    const NAME: &'static str = "echo";
    type Params = Value;
    type Output = Value;

    fn run(&self, _: &Context, _: Value) -> Result<Done<Value>, Failure> {
        panic!("what a pity")
    }
}

#[tokio::test]
async fn a_handler_that_panics_fails_its_task_and_nothing_else() {
    let rig = Rig::new("panics").await;
    let _roles = (rig.orchestrator(&[]), rig.projector());
    let mut registry = Registry::new(domain::handler::Catalog::shipped());
    registry.register_blocking(Panics).unwrap();
    registry.register(workers::shipped::Sleep).unwrap();
    let options = workers::Options {
        bus: rig.bus().clone(),
        worker_id: "panicky".to_owned(),
        queues: vec![QueueSlots {
            queue: "functionapp-tasks".to_owned(),
            slots: 1,
        }],
        registry,
        store: workers::store::open(rig.dir.join("store").to_str().unwrap()).unwrap(),
        scratch: rig.dir.join("scratch"),
        idle_timeout: None,
        timing: Timing::default(),
    };
    let stop = CancellationToken::new();
    let worker = tokio::spawn(workers::run(options, stop.clone()));
    let bad = rig.submit("deadly", json!({})).await.job_id;
    let good = rig.submit("rest", json!({})).await.job_id;
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.end_of(bad).await.as_deref(), Some("job_failed"));
    assert_eq!(rig.end_of(good).await.as_deref(), Some("job_completed"));
    invariants::check(&rig).await;
    let row = projections::read::job(&rig.pool, &bad.to_string()).await;
    let failure = row.unwrap().unwrap().failure.unwrap();
    assert_eq!(failure["failure"]["code"], "handler_panicked", "{failure}");
    let message = failure["failure"]["message"].as_str().unwrap();
    assert!(message.contains("what a pity"), "{message}");
    stop.cancel();
    worker.await.unwrap().unwrap();
}
