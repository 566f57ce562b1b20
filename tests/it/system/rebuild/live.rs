//! What others notice of a rebuild: nothing; and what it finds out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::handler::Catalog;
use projections::read::{self, JobFilter};
use projections::rebuild::{self, Options, Outcome, Progress};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{DEADLINE, ended, no_debris, rebuilt, retried, work};
use crate::repo::rust_files_below;
use crate::system::invariants;
use crate::system::rig::Rig;

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

/// What the projector writes is found by the `search_path`: a schema in front would write past a rebuild.
#[tokio::test]
async fn statements_of_the_projector_name_no_schema() {
    let rig = Rig::new("rebuild_names").await;
    let tables = rebuild::tables(&rig.pool).await.unwrap();
    assert!(tables.iter().any(|table| table == "dag_jobs"), "{tables:?}");
    // They read what everybody reads, whoever asks.
    let others = [
        "proof.rs",
        "sources.rs",
        "next.rs",
        "travel.rs",
        "store/callbacks/",
    ];
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
