//! Very many callbacks to a receiver that fails, hangs and goes away.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::id::{CallbackId, JobId};
use domain::request::CallbackRef;
use futures_util::StreamExt as _;

use super::receiver::{Mood, Receiver};
use super::stage::{Stage, run_python};

const JOBS: usize = 10_000;
/// Submissions under way at once.
const AT_ONCE: usize = 200;
const DEADLINE: Duration = Duration::from_secs(200);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_callback_arrives_though_the_receiver_fails_hangs_and_goes_away() {
    let mut stage = Stage::new("callback_storm").await;
    let mut receiver = Receiver::start(Mood::Random { fail: 30, hang: 3 }).await;
    for _ in 0..2 {
        let options = stage.options();
        stage.send(options);
    }
    let to = CallbackRef {
        retry_count: Some(20),
        timeout_seconds: Some(1),
        ..CallbackRef::to(receiver.url())
    };
    let jobs: BTreeSet<JobId> = futures_util::stream::iter(0..JOBS)
        .map(|_| stage.submit("nothing", vec![to.clone()]))
        .buffer_unordered(AT_ONCE)
        .map(|submitted| submitted.job_id)
        .collect()
        .await;
    assert_eq!(jobs.len(), JOBS);
    let some = async || receiver.count() >= JOBS / 4;
    stage.rig.eventually("some arrive", DEADLINE, some).await;
    receiver.restart(Duration::from_millis(500)).await;
    let all = async || stage.rig.events("callback_delivered").await >= JOBS as i64;
    stage
        .rig
        .eventually("all are delivered", DEADLINE, all)
        .await;

    let accepted: BTreeSet<String> = receiver.accepted().into_keys().collect();
    let expected = jobs
        .iter()
        .map(|job| CallbackId::of_job(*job, 0).to_string());
    assert_eq!(
        accepted,
        expected.collect(),
        "one id per job, and every id arrived"
    );
    assert_eq!(stage.rig.events("callback_delivered").await, JOBS as i64);
    assert_eq!(stage.rig.events("callback_given_up").await, 0);
    let settled = "select count(*) from dagapp.callback_outbox where status = 'delivered'";
    let all = async || stage.rig.count(settled).await == JOBS as i64;
    stage
        .rig
        .eventually("all rows are settled", DEADLINE, all)
        .await;

    let file = stage.rig.dir.join("received.jsonl");
    std::fs::write(&file, receiver.dump()).unwrap();
    let secret = stage
        .secrets()
        .ensure_default(super::stage::ORG)
        .await
        .unwrap();
    let file = file.to_str().unwrap();
    let found = run_python("verify_webhooks.py", &[file, secret.reveal()]).await;
    assert_eq!(found["lines"], receiver.count());
    // The same id always stands for the same job.
    assert_eq!(
        (&found["ids"], &found["pairs"]),
        (&JOBS.into(), &JOBS.into())
    );
    stage.stop().await;
}
