//! Postgres and NATS go away, and NATS comes back without anything it held.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::invariants;
use super::rig::Rig;

const DEADLINE: Duration = Duration::from_secs(90);

#[tokio::test]
async fn all_jobs_finish_after_jetstream_is_wiped() {
    let rig = Rig::private("wiped").await;
    let _roles = (
        rig.orchestrator(&[]),
        rig.orchestrator(&[]),
        rig.worker(2, &[]),
        rig.projector(),
    );
    for _ in 0..40 {
        rig.submit("nap", json!({"seconds": 0.3})).await;
    }
    let some = async || rig.events("node_completed").await >= 5;
    rig.eventually("some tasks are done", DEADLINE, some).await;
    let services = rig.services_dir();
    // The supervisor starts it again; its storage is gone by then.
    let storage = find_jetstream(&services);
    std::fs::remove_dir_all(&storage).unwrap();
    kill(&services, "nats.pid", Signal::KILL);
    for _ in 0..10 {
        rig.submit("chain", json!({})).await;
    }
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.events("job_completed").await, 50);
    invariants::check(&rig).await;
    rig.stop_services().await;
}

#[tokio::test]
async fn messages_that_were_purged_are_sent_again() {
    let rig = Rig::new("purged").await;
    let _roles = (rig.orchestrator(&[]), rig.projector());
    for _ in 0..10 {
        rig.submit("one", json!({})).await;
    }
    let bus = rig.bus();
    let stream = bus.tasks_stream().await.unwrap();
    let all_there = async || {
        let mut stream = stream.clone();
        stream
            .info()
            .await
            .is_ok_and(|info| info.state.messages == 10)
    };
    rig.eventually("all are in the queue", DEADLINE, all_there)
        .await;
    stream.purge().await.unwrap();
    let _worker = rig.worker(4, &[]);
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.events("job_completed").await, 10);
    assert_eq!(rig.events("node_redispatched").await, 10);
    invariants::check(&rig).await;
}

#[tokio::test]
async fn all_jobs_finish_after_an_immediate_restart_of_postgres() {
    let rig = Rig::private("pg_restart").await;
    let roles = (rig.orchestrator(&[]), rig.worker(4, &[]), rig.projector());
    // At its start a process says that the database does not answer, and ends.
    let started = async || roles.0.says("is ready") && roles.2.says("is ready");
    rig.eventually("all have started", DEADLINE, started).await;
    let mut accepted = Vec::new();
    for round in 0..3 {
        for _ in 0..20 {
            if let Ok(done) = rig.try_submit("chain", json!({})).await {
                accepted.push(done.job_id);
            }
        }
        if round < 2 {
            // SIGQUIT is what `pg_ctl stop -m immediate` sends.
            kill(&rig.services_dir(), "postgres.pid", Signal::QUIT);
            let back = async || rig.count("select 1::bigint").await == 1;
            rig.eventually("the database is back", DEADLINE, back).await;
        }
    }
    rig.all_ended(DEADLINE).await;
    assert!(accepted.len() >= 20);
    for job in accepted {
        let end = rig.end_of(job).await;
        assert_eq!(end.as_deref(), Some("job_completed"), "{job}");
    }
    invariants::check(&rig).await;
    rig.stop_services().await;
}

#[tokio::test]
async fn a_submission_without_nats_is_accepted_and_runs_when_it_is_back() {
    let rig = Rig::private("no_nats").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(4, &[]), rig.projector());
    let services = rig.services_dir();
    rig.submit("one", json!({})).await;
    rig.all_ended(DEADLINE).await;
    kill(&services, "nats.pid", Signal::STOP);
    let submitted = tokio::time::timeout(DEADLINE, rig.submit("one", json!({})));
    let submitted = submitted.await.expect("accepted without NATS");
    assert_eq!(rig.end_of(submitted.job_id).await, None);
    kill(&services, "nats.pid", Signal::CONT);
    rig.all_ended(DEADLINE).await;
    let end = rig.end_of(submitted.job_id).await;
    assert_eq!(end.as_deref(), Some("job_completed"));
    invariants::check(&rig).await;
    rig.stop_services().await;
}

fn kill(services: &std::path::Path, file: &str, signal: Signal) {
    let text = std::fs::read_to_string(services.join(file)).unwrap();
    let pid: i32 = text.split_whitespace().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn find_jetstream(services: &std::path::Path) -> std::path::PathBuf {
    let found = ["nats/jetstream", "nats", "jetstream"].map(|name| services.join(name));
    found.into_iter().find(|path| path.is_dir()).unwrap()
}
