//! Read models rebuilt while the platform runs: nobody notices, nothing is sent, and whoever is killed is replaced.

use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use commands::submit::Order;
use domain::handler::Catalog;
use projections::read::{self, JobFilter};
use projections::rebuild::{self, Options, Outcome, Progress};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use sqlx::{Connection as _, PgPool};
use tokio::process::Command;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::invariants;
use super::rig::{Rig, order, target};
use crate::repo::rust_files_below;

const DEADLINE: Duration = Duration::from_secs(60);

/// `strata projection`, as anybody runs it.
fn strata(rig: &Rig, args: &[&str]) -> Command {
    let program = target().join("debug/strata");
    assert!(program.exists(), "build it first: cargo build -p cli");
    let mut command = Command::new(program);
    command
        .arg("projection")
        .args(args)
        .arg("--data-dir")
        .arg(&rig.dir)
        .env("STRATA_DATABASE_URL", &rig.database_url)
        .env_remove("STRATA_NATS_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn ended(rig: &Rig, args: &[&str]) -> (Option<i32>, String, String) {
    let output = tokio::time::timeout(DEADLINE, strata(rig, args).output()).await;
    said(output.expect("it ends in time").unwrap())
}

fn said(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

async fn rebuilt(rig: &Rig, args: &[&str]) {
    let all = [&["rebuild", "--all"], args].concat();
    let (code, _, talk) = ended(rig, &all).await;
    assert_eq!(code, Some(0), "{talk}");
}

/// A rebuild leaves no table and no row of its own.
async fn no_debris(rig: &Rig) {
    let left = rig
        .count(
            "select (select count(*) from pg_class where relnamespace = 'dagapp_next'::regnamespace)
                  + (select count(*) from dagapp.rebuilds) + (select count(*) from dagapp.rebuild_rest)",
        )
        .await;
    assert_eq!(left, 0, "something of the rebuild is left");
}

/// Jobs of all kinds, and one that takes over the work of a failed one.
async fn work(rig: &Rig, rounds: usize) {
    let kinds = [
        "one", "chain", "fan", "choice", "flaky", "doomed", "nothing",
    ];
    for _ in 0..rounds {
        for kind in kinds {
            let inputs = match kind {
                "fan" => json!({"items": 12}),
                _ => json!({}),
            };
            rig.submit(kind, inputs).await;
        }
        rig.submit_for("field", "one").await;
    }
}

async fn retried(rig: &Rig, workflow: &str) {
    let failed = rig.submit(workflow, json!({})).await.job_id;
    let has_failed = async || rig.end_of(failed).await.is_some();
    rig.eventually("a job fails", DEADLINE, has_failed).await;
    let again = Order {
        retry_of: Some(failed),
        ..order(workflow, Map::new())
    };
    rig.writer.submit(again).await.unwrap();
}

/// Asks as the API does, until it is told to stop: an error, a position or a list that goes back is a failure.
async fn look_on(pool: PgPool, stop: CancellationToken, looks: Arc<AtomicU64>) {
    let (mut pos, mut jobs, mut tasks) = (0, 0, 0);
    let mut done: Vec<String> = Vec::new();
    while !stop.is_cancelled() {
        let now = read::position(&pool, projections::READ_MODELS)
            .await
            .unwrap();
        assert!(now >= pos, "from {pos} back to {now}");
        pos = now;
        let filter = JobFilter {
            limit: 100,
            ..JobFilter::default()
        };
        let counts = read::job_counts(&pool, &filter).await.unwrap();
        let count: i64 = counts.iter().map(|(_, count)| count).sum();
        assert!(count >= jobs, "{jobs} jobs became {count}");
        jobs = count;
        let page = read::jobs(&pool, &filter).await.unwrap();
        let again = read::jobs_by_id(&pool, "acme", &done).await.unwrap();
        assert_eq!(again.len(), done.len(), "jobs that had ended are gone");
        assert!(again.iter().all(|job| job.completed_at.is_some()));
        done = page
            .items
            .iter()
            .filter(|job| job.completed_at.is_some())
            .map(|job| job.job_id.clone())
            .collect();
        // The view, and a table that is read without one.
        let seen: i64 = sqlx::query_scalar("select count(*) from app.tasks")
            .fetch_one(&pool)
            .await
            .unwrap();
        assert!(seen >= tasks, "{tasks} tasks became {seen}");
        tasks = seen;
        let requests: i64 = sqlx::query_scalar("select count(*) from dagapp.requests")
            .fetch_one(&pool)
            .await
            .unwrap();
        assert!(requests >= jobs, "{requests} requests of {jobs} jobs");
        looks.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rebuilds_under_load_are_not_noticed_and_change_nothing() {
    let rig = Rig::new("rebuild_load").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(16, &[]), rig.projector());
    let (stop, looks) = (CancellationToken::new(), Arc::new(AtomicU64::new(0)));
    let pool = sqlx::postgres::PgPoolOptions::new()
        .max_connections(4)
        .connect(&rig.database_url)
        .await
        .unwrap();
    let readers: Vec<_> = (0..4)
        .map(|_| tokio::spawn(look_on(pool.clone(), stop.clone(), Arc::clone(&looks))))
        .collect();
    let rebuilding = async {
        for round in 0..4 {
            let verify: &[&str] = if round % 2 == 0 { &["--verify"] } else { &[] };
            rebuilt(&rig, verify).await;
        }
    };
    let working = async {
        work(&rig, 15).await;
        retried(&rig, "doomed").await;
        work(&rig, 15).await;
    };
    tokio::join!(rebuilding, working);
    rig.all_ended(DEADLINE).await;
    stop.cancel();
    for reader in readers {
        reader.await.expect("a reader never fails");
    }
    assert!(looks.load(Ordering::Relaxed) > 20, "the readers were busy");
    invariants::check(&rig).await;
    // Once more while nothing moves, with the retried job among what is folded.
    rebuilt(&rig, &["--verify"]).await;
    no_debris(&rig).await;
    invariants::check(&rig).await;
}

#[tokio::test]
async fn a_rebuild_sends_nothing() {
    let rig = Rig::new("rebuild_effects").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(8, &[]), rig.projector());
    work(&rig, 3).await;
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
    let before = effects(&rig).await;
    rebuilt(&rig, &["--verify"]).await;
    rebuilt(&rig, &[]).await;
    let after = effects(&rig).await;
    assert_eq!(before, after);
    assert!(before.0 > 0, "messages are counted: {before:?}");
}

/// Messages of all streams of this rig, rows of callbacks with the transaction that wrote them last, and the log.
async fn effects(rig: &Rig) -> (u64, Vec<i64>) {
    let context = async_nats::jetstream::new(rig.bus().client.clone());
    let mut messages = 0;
    let subjects = &rig.bus().subjects;
    for stream in [subjects.tasks_stream(), subjects.jobs_stream()] {
        let stream = context.get_stream(stream).await.unwrap();
        messages += stream.cached_info().state.last_sequence;
    }
    let mut counts = Vec::new();
    for sql in [
        "select count(*) from dagapp.callback_outbox",
        "select coalesce(max(xmin::text::bigint), 0) from dagapp.callback_outbox",
        "select count(*) from dagapp.callback_deliveries",
        "select count(*) from dagapp.dead_letters",
        "select pos from dagapp.log_head",
        "select count(*) from dagapp.open_jobs",
    ] {
        counts.push(rig.count(sql).await);
    }
    (messages, counts)
}

#[tokio::test]
async fn what_memory_cannot_hold_is_rebuilt_stream_by_stream() {
    let rig = Rig::new("rebuild_memory").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(8, &[]), rig.projector());
    work(&rig, 3).await;
    retried(&rig, "doomed").await;
    rig.submit("patient", json!({})).await;
    let quiet = async || rig.count("select count(*) from dagapp.open_jobs").await <= 1;
    rig.eventually("all but one job end", DEADLINE, quiet).await;
    let (progress, _) = watch::channel(Progress::default());
    let options = Options {
        verify: true,
        open_bytes_max: 1,
        ..Options::new(
            rig.pool.clone(),
            commands::write::fresh_id(),
            Arc::new(Catalog::shipped()),
        )
    };
    let ended = rebuild::run(options, progress, CancellationToken::new())
        .await
        .unwrap();
    assert!(matches!(ended, Outcome::Switched { .. }), "{ended:?}");
    no_debris(&rig).await;
}

#[tokio::test]
async fn a_comparison_names_the_first_difference_and_switches_nothing() {
    let rig = Rig::new("rebuild_verify").await;
    let roles = (rig.orchestrator(&[]), rig.worker(8, &[]), rig.projector());
    work(&rig, 1).await;
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
    // Nobody may write what is tampered with back by chance.
    drop(roles);
    let tampered = sqlx::query_scalar::<_, String>(
        "update dagapp.dag_node_states set worker_id = 'somebody else'
         where (job_id, node_id) = (select job_id, node_id from dagapp.dag_node_states
                                    where worker_id is not null order by job_id, node_id limit 1)
         returning job_id",
    )
    .fetch_one(&rig.pool)
    .await
    .unwrap();
    let oid = "select 'dagapp.dag_node_states'::regclass::oid::bigint";
    let live = rig.count(oid).await;
    let (code, data, talk) = ended(
        &rig,
        &["rebuild", "read_models", "--verify", "--output", "json"],
    )
    .await;
    assert_eq!(code, Some(3), "{talk}");
    let data: Value = serde_json::from_str(&data).unwrap();
    let first = &data["first"];
    assert_eq!(
        (&first["table"], &first["column"]),
        (&json!("dag_node_states"), &json!("worker_id")),
        "{data}"
    );
    assert!(first["key"].as_str().unwrap().contains(&tampered), "{data}");
    assert_eq!(first["live"], json!("\"somebody else\""), "{data}");
    assert!(
        talk.contains("column worker_id: live \"somebody else\", rebuilt "),
        "{talk}"
    );
    assert_eq!(rig.count(oid).await, live, "nothing is switched");
    no_debris(&rig).await;
    rebuilt(&rig, &[]).await;
    assert_ne!(rig.count(oid).await, live, "the tables are others now");
    rebuilt(&rig, &["--verify"]).await;
    let (code, _, talk) = ended(&rig, &["rebuild", "callbacks"]).await;
    assert_eq!(code, Some(2), "{talk}");
    let (code, _, talk) = ended(&rig, &["rebuild", "nothing_like_it"]).await;
    assert_eq!(code, Some(4), "{talk}");
}

#[tokio::test]
async fn a_rebuild_that_is_killed_ten_times_is_finished_by_the_next() {
    let rig = Rig::new("rebuild_kills").await;
    let roles = (rig.orchestrator(&[]), rig.worker(16, &[]), rig.projector());
    work(&rig, 10).await;
    for _ in 0..10 {
        rig.submit("fan", json!({"items": 100})).await;
    }
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
    let seed = rig.count("select (random() * 1e9)::bigint").await;
    println!("seed {seed}");
    let mut luck = u64::try_from(seed).unwrap();
    let mut killed = 0;
    // One that ends before its time was not killed; its kill is owed.
    for _ in 0..40 {
        luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut child = strata(&rig, &["rebuild", "--all"]).spawn().unwrap();
        let begun = async || {
            rig.count("select count(*) from dagapp.rebuilds where owner is not null and expires_at > clock_timestamp()").await > 0
        };
        let moment = Duration::from_millis((luck >> 33) % 500);
        let alive = tokio::select! {
            _ = child.wait() => false,
            () = async {
                rig.eventually("a rebuild begins", DEADLINE, begun).await;
                tokio::time::sleep(moment).await;
            } => true,
        };
        if alive {
            killed += i32::from(child.try_wait().unwrap().is_none());
            let _ = child.kill().await;
        }
        if killed == 10 {
            break;
        }
    }
    assert_eq!(killed, 10, "seed {seed}");
    rebuilt(&rig, &["--verify"]).await;
    no_debris(&rig).await;
    invariants::check(&rig).await;
    drop(roles);
}

#[tokio::test]
async fn whoever_stops_a_rebuild_leaves_nothing_and_readers_never_wait_for_it() {
    let rig = Rig::new("rebuild_cancel").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(8, &[]), rig.projector());
    work(&rig, 2).await;
    rig.all_ended(DEADLINE).await;
    // A reader who does not let go: the switch must wait, and nobody else.
    let mut reader = sqlx::PgConnection::connect(&rig.database_url)
        .await
        .unwrap();
    let mut held = reader.begin().await.unwrap();
    sqlx::query("select count(*) from dagapp.dag_jobs")
        .execute(&mut *held)
        .await
        .unwrap();
    let follows = async || {
        rig.count("select count(*) from dagapp.rebuilds where phase = 'follow'")
            .await
            == 1
    };
    for by_signal in [true, false] {
        let child = strata(&rig, &["rebuild", "--all"]).spawn().unwrap();
        rig.eventually("all but the switch is done", DEADLINE, &follows)
            .await;
        for _ in 0..10 {
            let look = tokio::time::timeout(
                Duration::from_secs(1),
                read::jobs(
                    &rig.pool,
                    &JobFilter {
                        limit: 5,
                        ..JobFilter::default()
                    },
                ),
            );
            look.await.expect("readers do not wait").unwrap();
        }
        let (code, listed, _) = ended(&rig, &["list", "--output", "json"]).await;
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let models = listed
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == "read_models")
            .unwrap();
        assert_eq!(
            (
                code,
                &models["rebuild"]["phase"],
                &models["rebuild"]["is_led"]
            ),
            (Some(0), &json!("follow"), &json!(true))
        );
        if by_signal {
            let pid = i32::try_from(child.id().unwrap()).unwrap();
            kill_process(Pid::from_raw(pid).unwrap(), Signal::INT).unwrap();
        } else {
            let (code, _, talk) = ended(&rig, &["cancel"]).await;
            assert_eq!(code, Some(0), "{talk}");
        }
        let (code, _, talk) = said(child.wait_with_output().await.unwrap());
        assert_eq!(code, Some(130), "{talk}");
        no_debris(&rig).await;
    }
    held.rollback().await.unwrap();
    rebuilt(&rig, &["--verify"]).await;
}

#[tokio::test]
async fn tables_of_an_older_build_are_rebuilt_at_start_and_those_of_a_newer_one_are_left() {
    let rig = Rig::new("rebuild_version").await;
    let roles = (rig.orchestrator(&[]), rig.worker(8, &[]));
    let projector = rig.projector();
    work(&rig, 2).await;
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
    projector.terminate(DEADLINE).await;
    let set = async |version: i32| {
        sqlx::query(
            "update dagapp.projection_checkpoints set version = $1 where name = 'read_models'",
        )
        .bind(version)
        .execute(&rig.pool)
        .await
        .unwrap();
        // What the rows of another build look like.
        sqlx::query("update dagapp.dag_jobs set priority = 'other'")
            .execute(&rig.pool)
            .await
            .unwrap();
    };
    let others = "select count(*) from dagapp.dag_jobs where priority = 'other'";
    set(projections::READ_MODELS_VERSION + 1).await;
    let newer = rig.count(others).await;
    let projector = rig.projector();
    let complains = async || projector.says("and this build is version");
    rig.eventually("it says that it is too old", DEADLINE, complains)
        .await;
    let (code, _, talk) = ended(&rig, &["rebuild", "--all"]).await;
    assert_eq!(code, Some(5), "{talk}");
    assert_eq!(
        rig.count(others).await,
        newer,
        "rows of a newer build are left alone"
    );
    projector.terminate(DEADLINE).await;
    set(projections::READ_MODELS_VERSION - 1).await;
    rig.submit("one", json!({})).await;
    let _projectors = (rig.projector(), rig.projector());
    let version =
        "select version::bigint from dagapp.projection_checkpoints where name = 'read_models'";
    let current = async || rig.count(version).await == i64::from(projections::READ_MODELS_VERSION);
    rig.eventually("the tables are of this build", DEADLINE, current)
        .await;
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
    assert_eq!(rig.count(others).await, 0);
    no_debris(&rig).await;
    rebuilt(&rig, &["--verify"]).await;
    drop(roles);
}

/// What the projector writes is found by the `search_path`: a schema in front would write past a rebuild.
#[tokio::test]
async fn statements_of_the_projector_name_no_schema() {
    let rig = Rig::new("rebuild_names").await;
    let tables = rebuild::tables(&rig.pool).await.unwrap();
    assert!(tables.iter().any(|table| table == "dag_jobs"), "{tables:?}");
    // They read what everybody reads, whoever asks.
    let others = ["proof.rs", "sources.rs", "next.rs", "store/callbacks/"];
    for file in rust_files_below("projections/src/store") {
        let path = file.path.to_string();
        if others.iter().any(|other| path.contains(other)) {
            continue;
        }
        for table in &tables {
            for (nth, line) in file.text.lines().enumerate() {
                let name = format!("dagapp.{table}");
                let found = line.match_indices(&name).any(|(at, _)| {
                    let rest = line.get(at + name.len()..).unwrap_or_default();
                    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                });
                assert!(!found, "{path}:{}: {name} has its schema in front", nth + 1);
            }
        }
    }
}
