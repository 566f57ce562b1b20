//! Jobs that nobody disturbs, and the ways to steer them.

use std::time::Duration;

use commands::control::{ControlError, Controlled};
use serde_json::json;

use super::invariants;
use super::rig::Rig;

const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn every_kind_of_workflow_runs_and_the_read_models_show_it() {
    let rig = Rig::new("kinds").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(16, &[]), rig.projector());
    let cases = [
        ("one", json!({"message": "hi"}), Some(json!({"said": "hi"}))),
        ("chain", json!({}), Some(json!({"said": "12345"}))),
        ("fan", json!({"items": 50}), Some(json!({"processed": 50}))),
        ("fan", json!({"items": 0}), Some(json!({"processed": 0}))),
        ("wide", json!({"items": 5}), Some(json!({"replies": 5}))),
        (
            "wide",
            json!({"items": 3_000}),
            Some(json!({"replies": 3_000})),
        ),
        ("choice", json!({"size": 5}), Some(json!({"took": "light"}))),
        (
            "choice",
            json!({"size": 5_000_000_000_u64}),
            Some(json!({"took": "heavy"})),
        ),
        ("flaky", json!({}), Some(json!({}))),
        ("doomed", json!({}), None),
    ];
    let mut jobs = Vec::new();
    for (workflow, inputs, result) in cases {
        let submitted = rig.submit(workflow, inputs).await;
        jobs.push((submitted.job_id, result));
    }
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
    for (job, result) in jobs {
        let row = projections::read::job(&rig.pool, &job.to_string()).await;
        let row = row.unwrap().unwrap();
        match result {
            Some(expected) => {
                assert_eq!(row.status, "COMPLETED", "{row:?}");
                let mut found = row.result.unwrap();
                found.as_object_mut().unwrap().remove("_provenance");
                if expected != json!({}) {
                    assert_eq!(found, expected);
                }
            }
            None => {
                assert_eq!(row.status, "FAILED", "{row:?}");
                let failure = row.failure.unwrap().to_string();
                assert!(failure.contains("as planned"), "{failure}");
            }
        }
    }
}

#[tokio::test]
async fn a_job_is_cancelled_paused_resumed_and_retried() {
    let rig = Rig::new("steer").await;
    // Before there is any orchestrator a request can only be taken back.
    let early = rig.submit("one", json!({})).await;
    let refused = rig.writer.pause(early.job_id, "", "test").await;
    assert!(matches!(refused, Err(ControlError::NotClaimed)));
    let done = rig.writer.cancel(early.job_id, "not needed", "test").await;
    assert!(matches!(done, Ok(Controlled::Withdrawn { .. })), "{done:?}");

    let _roles = (rig.orchestrator(&[]), rig.worker(4, &[]), rig.projector());
    let long = rig.submit("nap", json!({"seconds": 600})).await;
    let running = async || rig.events("node_started").await == 1;
    rig.eventually("it runs", DEADLINE, running).await;
    let done = rig.writer.cancel(long.job_id, "enough", "test").await;
    assert!(matches!(done, Ok(Controlled::Applied { .. })), "{done:?}");
    let again = rig.writer.cancel(long.job_id, "enough", "test").await;
    assert!(matches!(again, Ok(Controlled::AlreadyCancelled)));
    let late = rig.writer.resume(long.job_id, "test").await;
    assert!(matches!(late, Err(ControlError::Ended(_))), "{late:?}");

    let held = rig.submit("nap", json!({"seconds": 3})).await;
    let running = async || rig.events("node_started").await == 2;
    rig.eventually("it runs", DEADLINE, running).await;
    rig.writer.pause(held.job_id, "wait", "test").await.unwrap();
    let first_done = async || rig.events("node_completed").await == 1;
    rig.eventually("the first task ends", DEADLINE, first_done)
        .await;
    // A second job goes all the way meanwhile; the paused one stays where it is.
    let other = rig.submit("one", json!({})).await;
    let ended = async || rig.end_of(other.job_id).await.is_some();
    rig.eventually("another job ends", DEADLINE, ended).await;
    assert_eq!(rig.end_of(held.job_id).await, None);
    rig.writer.resume(held.job_id, "test").await.unwrap();
    rig.all_ended(DEADLINE).await;
    let end = rig.end_of(held.job_id).await;
    assert_eq!(end.as_deref(), Some("job_completed"));

    let doomed = rig.submit("doomed", json!({})).await;
    rig.all_ended(DEADLINE).await;
    let first = rig.writer.retry(doomed.job_id, "test").await.unwrap();
    let second = rig.writer.retry(doomed.job_id, "test").await.unwrap();
    assert_eq!(first.submitted.job_id, second.submitted.job_id);
    assert!(rig.writer.retry(held.job_id, "test").await.is_err());
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
}

#[tokio::test]
async fn a_job_that_only_waits_for_a_time_is_put_down_and_taken_up_again() {
    let rig = Rig::new("put_down").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(4, &[]), rig.projector());
    let job = rig.submit("patient", json!({})).await;
    let asleep = async || {
        let due = "select count(*) from dagapp.open_jobs where due_at is not null";
        rig.count(due).await == 1
    };
    rig.eventually("it sleeps", DEADLINE, asleep).await;
    // Nobody takes it for lost meanwhile, and a wish from outside reaches it all the same.
    rig.writer.pause(job.job_id, "", "test").await.unwrap();
    rig.writer.resume(job.job_id, "test").await.unwrap();
    rig.all_ended(DEADLINE).await;
    let end = rig.end_of(job.job_id).await;
    assert_eq!(end.as_deref(), Some("job_failed"));
    assert_eq!(rig.events("node_failed").await, 2);
    assert_eq!(
        rig.events("job_claimed").await,
        1,
        "its owner never changed"
    );
    invariants::check(&rig).await;
}

#[tokio::test]
async fn an_asset_follows_its_jobs_also_when_they_end_at_once_or_race() {
    let rig = Rig::new("assets").await;
    rig.writer.register_platforms().await.unwrap();
    let mut jobs = Vec::new();
    // Before there is an orchestrator, so that all of them are taken at the same moment.
    for workflow in ["nothing", "nothing", "one", "one", "one", "doomed"] {
        jobs.push(rig.submit_for("parcels", workflow).await);
    }
    assert!(jobs.iter().all(|j| j.asset_id == jobs[0].asset_id));
    let _roles = (rig.orchestrator(&[]), rig.worker(4, &[]), rig.projector());
    rig.all_ended(DEADLINE).await;
    let alone = rig.submit_for("rivers", "nothing").await;
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
    let asset = async |id: domain::asset::AssetId| {
        let found = projections::read::assets_by_id(&rig.pool, "acme", &[id.to_string()]).await;
        found.unwrap().pop().unwrap()
    };
    let rivers = asset(alone.asset_id.unwrap()).await;
    assert_eq!(rivers.processing_status, "completed", "O-23: {rivers:?}");
    assert_eq!(rivers.revision, Some(1));
    let job_id = alone.job_id.to_string();
    assert_eq!(rivers.current_job_id, Some(job_id));
    let parcels = asset(jobs[0].asset_id.unwrap()).await;
    assert_ne!(parcels.processing_status, "processing", "{parcels:?}");
    assert!(parcels.revision.is_some());
}

#[tokio::test]
async fn a_worker_that_is_told_to_end_saves_hands_back_and_leaves_in_time() {
    let rig = Rig::new("sigterm").await;
    let _roles = (rig.orchestrator(&[]), rig.projector());
    let leaving = rig.worker(4, &[]);
    let job = rig
        .submit("phases", json!({"steps": 30, "step_delay": 0.2}))
        .await;
    let saved = async || rig.events("checkpoint_saved").await >= 2;
    rig.eventually("it has checkpoints", DEADLINE, saved).await;
    let exit = leaving.terminate(Duration::from_secs(30)).await;
    assert_eq!(exit, Some(0));
    let before = rig.events("checkpoint_saved").await;
    let _next = rig.worker(4, &[]);
    rig.all_ended(DEADLINE).await;
    let end = rig.end_of(job.job_id).await;
    assert_eq!(end.as_deref(), Some("job_completed"));
    // 29 checkpoints in all: none of the saved steps was done again.
    assert_eq!(rig.events("checkpoint_saved").await, 29, "{before} before");
    assert_eq!(rig.events("run_released").await, 1);
    assert_eq!(
        rig.events("run_lost").await,
        0,
        "nobody had to wait for that"
    );
    invariants::check(&rig).await;
}

#[tokio::test]
async fn an_orchestrator_that_is_told_to_end_hands_its_jobs_over_at_once() {
    let rig = Rig::new("handover").await;
    let (leaving, _staying) = (rig.orchestrator(&[]), rig.projector());
    let _worker = rig.worker(8, &[]);
    for _ in 0..8 {
        rig.submit("nap", json!({"seconds": 2})).await;
    }
    let running = async || rig.events("node_started").await == 8;
    rig.eventually("they run", DEADLINE, running).await;
    let _next = rig.orchestrator(&[]);
    assert_eq!(leaving.terminate(Duration::from_secs(20)).await, Some(0));
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.events("job_completed").await, 8);
    assert_eq!(rig.events("node_completed").await, 16, "nothing ran twice");
    invariants::check(&rig).await;
}
