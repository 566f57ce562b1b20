//! Processes that are killed, stopped and started again while jobs run.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use sqlx::Row;

use super::invariants;
use super::rig::{Process, Rig};

const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn five_hundred_jobs_survive_a_kill_every_second() {
    const JOBS: u64 = 500;
    let rig = Rig::new("kills").await;
    let _projectors = (rig.projector(), rig.projector());
    let start = |n: usize| match n {
        0..3 => rig.orchestrator(&[]),
        _ => rig.worker(16, &[]),
    };
    let mut processes: Vec<Process> = (0..7).map(start).collect();
    let kinds = ["one", "chain", "fan", "choice", "flaky", "doomed", "nap"];
    let mut jobs = Vec::new();
    let mut luck = 7_u64;
    let mut kills = 0;
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    ticks.tick().await;
    loop {
        if u64::try_from(jobs.len()).unwrap() < JOBS {
            for _ in 0..100 {
                let kind = kinds[jobs.len() % kinds.len()];
                let inputs = match kind {
                    "fan" => json!({"items": 20}),
                    "nap" => json!({"seconds": 0.5}),
                    _ => json!({}),
                };
                jobs.push((kind, rig.submit(kind, inputs).await.job_id));
            }
        }
        ticks.tick().await;
        let done = rig.count("select count(*) from dagapp.open_jobs").await == 0;
        if done && u64::try_from(jobs.len()).unwrap() >= JOBS {
            break;
        }
        assert!(
            kills < 120,
            "the jobs do not end: see {}",
            rig.dir.display()
        );
        luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let victim = usize::try_from(luck >> 33).unwrap() % processes.len();
        processes[victim] = start(victim);
        kills += 1;
    }
    assert!(kills >= 5, "only {kills} kills");
    for (kind, job) in &jobs {
        let expected = if *kind == "doomed" {
            "job_failed"
        } else {
            "job_completed"
        };
        assert_eq!(
            rig.end_of(*job).await.as_deref(),
            Some(expected),
            "{kind} {job}"
        );
    }
    let spread = owners(&rig).await;
    assert!(spread.len() >= 3, "M-10: {spread:?}");
    invariants::check(&rig).await;
}

/// How many jobs each owner was the first to claim.
async fn owners(rig: &Rig) -> BTreeMap<String, i64> {
    let rows = sqlx::query(
        "select convert_from(payload, 'UTF8')::jsonb ->> 'owner', count(*) from dagapp.events
         where type = 'job_claimed' and version <= 3 group by 1",
    )
    .fetch_all(&rig.pool)
    .await
    .unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test]
async fn a_stopped_orchestrator_that_wakes_up_changes_nothing() {
    let rig = Rig::new("zombie").await;
    let _roles = (rig.worker(16, &[]), rig.projector());
    let zombie = rig.orchestrator(&[]);
    for _ in 0..10 {
        rig.submit("nap", json!({"seconds": 3})).await;
    }
    let running = async || rig.events("node_started").await == 10;
    rig.eventually("they run", DEADLINE, running).await;
    zombie.signal(Signal::STOP);
    let _heir = rig.orchestrator(&[]);
    let reclaimed = async || rig.events("job_claimed").await == 20;
    rig.eventually("the jobs are claimed", DEADLINE, reclaimed)
        .await;
    zombie.signal(Signal::CONT);
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.events("job_completed").await, 10);
    assert_eq!(rig.events("job_claimed").await, 20, "exactly one winner");
    invariants::check(&rig).await;
}

#[tokio::test]
async fn an_orchestrator_that_heard_nothing_takes_no_run_for_lost() {
    let rig = Rig::new("deaf").await;
    let times = [
        "--run-silence",
        "1500ms",
        "--beat",
        "300ms",
        "--sweep",
        "300ms",
    ];
    let deaf = rig.spawn("orchestrator", &times, &[]);
    let _roles = (rig.worker(4, &[]), rig.projector());
    rig.submit("nap", json!({"seconds": 6})).await;
    let running = async || rig.events("node_started").await == 1;
    rig.eventually("it runs", DEADLINE, running).await;
    deaf.signal(Signal::STOP);
    let began = tokio::time::Instant::now();
    let long = async || began.elapsed() > Duration::from_secs(3);
    rig.eventually("longer than a run may be silent", DEADLINE, long)
        .await;
    deaf.signal(Signal::CONT);
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.events("run_lost").await, 0);
    assert_eq!(rig.events("node_started").await, 1);
    invariants::check(&rig).await;
}

#[tokio::test]
async fn a_stopped_worker_that_wakes_up_changes_nothing() {
    let rig = Rig::new("frozen").await;
    let _roles = (rig.orchestrator(&[]), rig.projector());
    let frozen = rig.worker(4, &[]);
    let job = rig
        .submit("phases", json!({"steps": 12, "step_delay": 0.5}))
        .await;
    let saved = async || rig.events("checkpoint_saved").await >= 2;
    rig.eventually("it has checkpoints", DEADLINE, saved).await;
    frozen.signal(Signal::STOP);
    let lost = async || rig.events("run_lost").await == 1;
    rig.eventually("the run is lost", DEADLINE, lost).await;
    let _healthy = rig.worker(4, &[]);
    let again = async || rig.events("node_started").await == 2;
    rig.eventually("it runs elsewhere", DEADLINE, again).await;
    frozen.signal(Signal::CONT);
    rig.all_ended(DEADLINE).await;
    let end = rig.end_of(job.job_id).await;
    assert_eq!(end.as_deref(), Some("job_completed"));
    assert_eq!(rig.events("node_completed").await, 1);
    invariants::check(&rig).await;
}

#[tokio::test]
async fn a_task_that_kills_its_worker_fails_after_three_lost_runs() {
    let rig = Rig::new("deadly").await;
    let quick = rig.spawn(
        "orchestrator",
        &["--run-silence", "1s", "--ack-wait", "1s"],
        &[],
    );
    let _roles = (quick, rig.projector());
    // A worker that dies at every handler of this kind, started again each time.
    let times = ["--heartbeat", "300ms", "--ack-wait", "1s"];
    let deadly = || rig.spawn("worker", &times, &[("STRATA_FAULT", "started-handler:1")]);
    let mut worker = deadly();
    let job = rig.submit("deadly", json!({})).await;
    let end = tokio::time::Instant::now() + Duration::from_secs(120);
    while rig.end_of(job.job_id).await.is_none() {
        assert!(tokio::time::Instant::now() < end, "{}", rig.dir.display());
        if !worker.is_running() {
            worker = deadly();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let end = rig.end_of(job.job_id).await;
    assert_eq!(end.as_deref(), Some("job_failed"));
    // Two lost runs and the one that fails the attempt.
    assert_eq!(rig.events("run_lost").await, 2);
    assert_eq!(rig.events("node_failed").await, 1);
    invariants::check(&rig).await;
}

#[tokio::test]
async fn a_request_that_kills_whoever_takes_it_is_quarantined_and_others_go_on() {
    let rig = Rig::new("poison_request").await;
    let _roles = (rig.worker(8, &[]), rig.projector());
    let poison = rig.submit("chain", json!({})).await;
    let id = poison.job_id.to_string();
    let env = [("STRATA_FAULT_JOB", id.as_str())];
    let mut owner = rig.orchestrator(&env);
    let good: Vec<_> =
        futures_util::future::join_all((0..20).map(|_| rig.submit("chain", json!({})))).await;
    let end = tokio::time::Instant::now() + DEADLINE;
    let mut deaths = 0;
    // Quarantined, the others done, and nobody dies of it any more, whatever is delivered again.
    let mut quiet = tokio::time::Instant::now();
    while quiet.elapsed() < Duration::from_secs(4)
        || rig.count("select count(*) from dagapp.open_jobs").await != 1
    {
        assert!(tokio::time::Instant::now() < end, "{}", rig.dir.display());
        if !owner.is_running() {
            deaths += 1;
            owner = rig.orchestrator(&env);
            quiet = tokio::time::Instant::now();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Once uncounted, when it came for the first time, and three times counted.
    assert!((1..=4).contains(&deaths), "{deaths}");
    for job in good {
        let end = rig.end_of(job.job_id).await;
        assert_eq!(end.as_deref(), Some("job_completed"));
    }
    drop(owner);
    let _sane = rig.orchestrator(&[]);
    assert!(rig.writer.log.release(poison.job_id).await.unwrap());
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
}

#[tokio::test]
async fn a_job_that_kills_whoever_folds_it_is_quarantined_and_others_go_on() {
    let rig = Rig::new("poison").await;
    let _roles = (rig.worker(8, &[]), rig.projector());
    let mut owner = rig.orchestrator(&[]);
    let poison = rig
        .submit("phases", json!({"steps": 20, "step_delay": 0.3}))
        .await;
    let started = async || rig.events("node_started").await == 1;
    rig.eventually("it runs", DEADLINE, started).await;
    // From now on whoever folds it dies.
    let env = [("STRATA_FAULT_JOB", poison.job_id.to_string())];
    let env: Vec<(&str, &str)> = env.iter().map(|(k, v)| (*k, v.as_str())).collect();
    owner.signal(Signal::KILL);
    owner = rig.orchestrator(&env);
    let good: Vec<_> =
        futures_util::future::join_all((0..20).map(|_| rig.submit("chain", json!({})))).await;
    let end = tokio::time::Instant::now() + Duration::from_secs(60);
    let mut deaths = 0;
    loop {
        let claims = rig
            .count("select coalesce(max(claims), 0)::bigint from dagapp.open_jobs")
            .await;
        let open = rig.count("select count(*) from dagapp.open_jobs").await;
        if claims >= 3 && open == 1 && owner.is_running() {
            break;
        }
        assert!(tokio::time::Instant::now() < end, "{}", rig.dir.display());
        if !owner.is_running() {
            deaths += 1;
            owner = rig.orchestrator(&env);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!((1..=4).contains(&deaths), "{deaths}");
    for job in good {
        let end = rig.end_of(job.job_id).await;
        assert_eq!(end.as_deref(), Some("job_completed"));
    }
    // Released by hand, to somebody who can fold it.
    drop(owner);
    let _sane = rig.orchestrator(&[]);
    assert!(rig.writer.log.release(poison.job_id).await.unwrap());
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
}
