//! What is sent, to whom, when, and how often.

use std::time::Duration;

use domain::id::CallbackId;
use domain::request::CallbackRef;
use projections::read;
use serde_json::{Value, json};

use super::receiver::{Mood, Receiver};
use super::stage::{DEADLINE, ORG, Stage};

#[tokio::test]
async fn each_end_of_a_job_is_called_back_by_the_roles_as_they_run() {
    let mut stage = Stage::new("callback_ends").await;
    stage.stop().await;
    // The real process, which reads from its environment what may be called.
    let allow = [
        ("STRATA_CALLBACK_ALLOW", "127.0.0.1/32"),
        ("STRATA_PUBLIC_URL", "https://strata.example/"),
    ];
    let _roles = (
        stage.rig.spawn("projector", &[], &allow),
        stage.rig.worker(4, &[]),
    );
    let (one, two) = (
        Receiver::start(Mood::Always(200)).await,
        Receiver::start(Mood::Always(204)).await,
    );
    let both = vec![CallbackRef::to(one.url()), CallbackRef::to(two.url())];
    let done = stage.submit("one", both).await;
    let failed = stage
        .submit("doomed", vec![CallbackRef::to(one.url())])
        .await;
    let cancelled = stage
        .submit("patient", vec![CallbackRef::to(one.url())])
        .await;
    let there = async || stage.rig.events("job_started").await >= 3;
    stage.rig.eventually("the jobs run", DEADLINE, there).await;
    stage
        .rig
        .writer
        .cancel(cancelled.job_id, "no longer needed", "test")
        .await
        .unwrap();
    for submitted in [&done, &failed, &cancelled] {
        stage.all_are(submitted, "delivered").await;
    }
    let body = |receiver: &Receiver, id: CallbackId| -> Value {
        let received = receiver.received();
        let received = received.iter().find(|r| r.id == id.to_string());
        received.expect("it was received").json()
    };
    let first = body(&one, CallbackId::of_job(done.job_id, 0));
    let expected = json!({
        "request_id": done.request_id, "job_id": done.job_id, "job_type": "one", "status": "COMPLETED",
        "result_url": format!("https://strata.example/api/jobs/{}/result", done.job_id),
        "error": null,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&first[key], value, "{key}");
    }
    assert_eq!(
        first["stage_results"]["only"]["echoed_params"]["message"],
        "hello"
    );
    assert_eq!(first["final_results"]["said"], "hello");
    assert_eq!(first["signature"].as_str().map(str::len), Some(64));
    let at = first["timestamp"].as_str().unwrap();
    assert!(at.ends_with('Z'), "{at}");
    assert_eq!(
        body(&two, CallbackId::of_job(done.job_id, 1))["job_id"],
        first["job_id"]
    );
    let failed = body(&one, CallbackId::of_job(failed.job_id, 0));
    assert_eq!(failed["status"], "FAILED");
    assert!(
        failed["error"]["code"].is_string() && failed["error"]["category"].is_string(),
        "{failed}"
    );
    let cancelled = body(&one, CallbackId::of_job(cancelled.job_id, 0));
    assert_eq!(cancelled["status"], "CANCELLED");
    assert_eq!(cancelled["error"]["message"], "no longer needed");
    assert_eq!((one.count(), two.count()), (3, 1));
    assert!(one.received()[0].agent.starts_with("strata/"));
}

#[tokio::test]
async fn a_request_that_is_taken_back_is_called_back_as_cancelled() {
    let mut stage = Stage::new("callback_withdrawn").await;
    let options = stage.options();
    stage.send(options);
    let receiver = Receiver::start(Mood::Always(200)).await;
    // No orchestrator takes it before it is taken back, or it is cancelled: either way it ends once.
    let submitted = stage
        .submit("patient", vec![CallbackRef::to(receiver.url())])
        .await;
    stage
        .rig
        .writer
        .cancel(submitted.job_id, "a mistake", "test")
        .await
        .unwrap();
    stage.all_are(&submitted, "delivered").await;
    let body = receiver.received()[0].json();
    assert_eq!(
        (&body["status"], &body["error"]["message"]),
        (&json!("CANCELLED"), &json!("a mistake"))
    );
    assert_eq!(receiver.count(), 1);
    stage.stop().await;
}

#[tokio::test]
async fn two_senders_send_each_callback_once_and_a_rebuilt_read_model_sends_nothing() {
    const JOBS: usize = 300;
    let mut stage = Stage::new("callback_once").await;
    for _ in 0..2 {
        let options = stage.options();
        stage.send(options);
    }
    let receiver = Receiver::start(Mood::Always(200)).await;
    for _ in 0..JOBS {
        stage
            .submit("nothing", vec![CallbackRef::to(receiver.url())])
            .await;
    }
    let settled = "select count(*) from dagapp.callback_outbox where status = 'delivered'";
    let all = async || stage.rig.count(settled).await == JOBS as i64;
    stage
        .rig
        .eventually("all are delivered", DEADLINE, all)
        .await;
    assert_eq!(receiver.count(), JOBS);
    assert!(receiver.accepted().values().all(|n| *n == 1));

    // Everything is read again from the start: read models that are filled anew, and the outbox too.
    stage.stop().await;
    for statement in [
        "truncate dagapp.dag_jobs, dagapp.dag_jobs_history, dagapp.dag_node_states, dagapp.dag_task_results, dagapp.requests, dagapp.assets,
             dagapp.asset_revisions, dagapp.platforms, dagapp.workflows",
        "update dagapp.projection_checkpoints set pos = 0",
    ] {
        sqlx::query(statement).execute(&stage.rig.pool).await.unwrap();
    }
    stage.project();
    let options = stage.options();
    stage.send(options);
    let head = read::head(&stage.rig.pool).await.unwrap();
    for name in [projections::READ_MODELS, projections::callbacks::NAME] {
        let there = async || read::position(&stage.rig.pool, name).await.unwrap() >= head;
        stage
            .rig
            .eventually("it is read again", DEADLINE, there)
            .await;
    }
    // One more, behind all the others: when it has come, nothing else will.
    let last = stage
        .submit("nothing", vec![CallbackRef::to(receiver.url())])
        .await;
    stage.all_are(&last, "delivered").await;
    assert_eq!(receiver.count(), JOBS + 1);
    assert_eq!(
        stage.rig.events("callback_delivered").await,
        JOBS as i64 + 1
    );
    stage.stop().await;
}

#[tokio::test]
async fn a_callback_is_given_up_after_its_tries_and_sent_again_by_hand_under_the_same_id() {
    let mut stage = Stage::new("callback_again").await;
    let options = stage.options();
    stage.send(options);
    let receiver = Receiver::start(Mood::Always(500)).await;
    let to = CallbackRef {
        retry_count: Some(2),
        ..CallbackRef::to(receiver.url())
    };
    let submitted = stage.submit("nothing", vec![to]).await;
    let given_up = stage.all_are(&submitted, "given_up").await.remove(0);
    assert_eq!((given_up.attempts, receiver.count()), (3, 3));
    assert_eq!(given_up.last_code.as_deref(), Some("http_5xx"));

    let id = CallbackId::of_job(submitted.job_id, 0);
    let writer = &stage.rig.writer;
    let foreign = writer.redeliver_callback("other", id, "test").await;
    assert!(foreign.is_err(), "of another organisation it is not known");
    receiver.set(Mood::Always(200));
    writer.redeliver_callback(ORG, id, "test").await.unwrap();
    let on_its_way = writer.redeliver_callback(ORG, id, "test").await;
    let delivered = stage.all_are(&submitted, "delivered").await.remove(0);
    // It may have arrived before the second wish.
    if on_its_way.is_err() {
        assert_eq!(
            (delivered.round, delivered.attempts, delivered.deliveries),
            (1, 1, 4)
        );
    }
    assert!(receiver.received().iter().all(|r| r.id == id.to_string()));
    let tries = read::deliveries(&stage.rig.pool, &[id.to_string()])
        .await
        .unwrap();
    let first: Vec<_> = tries
        .iter()
        .take(4)
        .map(|t| (t.attempt, t.status_code, t.by_hand))
        .collect();
    let failed = |n| (n, Some(500), false);
    assert_eq!(
        first,
        [failed(1), failed(2), failed(3), (4, Some(200), true)]
    );
    assert_eq!(stage.rig.events("callback_given_up").await, 1);
    assert!(stage.rig.events("callback_redelivery_requested").await >= 1);
    stage.stop().await;
}

#[tokio::test]
async fn what_two_senders_say_about_one_callback_is_one_fact() {
    let mut stage = Stage::new("callback_facts").await;
    let job_id = stage.submit("nothing", vec![]).await.job_id;
    let settlement = |command| domain::callback::Settlement {
        callback_id: CallbackId::of_job(job_id, 0),
        org_id: ORG.to_owned(),
        command,
    };
    let delivered = settlement(domain::callback::Command::RecordDelivered {
        job_id,
        round: 0,
        attempts: 1,
        status_code: 200,
    });
    let given_up = settlement(domain::callback::Command::RecordGivenUp {
        job_id,
        round: 0,
        attempts: 3,
        code: "timeout".to_owned(),
        message: "no answer".to_owned(),
    });
    let writer = &stage.rig.writer;
    let all = vec![delivered.clone(), delivered.clone(), given_up.clone()];
    writer.record_callbacks(all).await.unwrap();
    writer
        .record_callbacks(vec![given_up, delivered])
        .await
        .unwrap();
    assert_eq!(stage.rig.events("callback_delivered").await, 1);
    assert_eq!(stage.rig.events("callback_given_up").await, 0);
    stage.stop().await;
}

#[tokio::test]
async fn a_sender_that_dies_in_the_middle_leaves_its_claims_to_the_next() {
    let mut stage = Stage::new("callback_orphans").await;
    let slow = Receiver::start(Mood::Slow(Duration::from_secs(30))).await;
    let options = projections::callbacks::Options {
        slack: Duration::from_millis(200),
        ..stage.options()
    };
    // Dropped without a word, as a killed process ends.
    let first = tokio::spawn(projections::callbacks::run(
        options.clone(),
        Default::default(),
    ));
    let to = CallbackRef {
        timeout_seconds: Some(2),
        ..CallbackRef::to(slow.url())
    };
    let submitted = stage.submit("nothing", vec![to]).await;
    let sent = async || slow.count() == 1;
    stage
        .rig
        .eventually("it is under way", DEADLINE, sent)
        .await;
    first.abort();
    slow.set(Mood::Always(200));
    stage.send(projections::callbacks::Options {
        owner: commands::write::fresh_id(),
        ..options
    });
    stage.all_are(&submitted, "delivered").await;
    assert_eq!(slow.count(), 2);
    stage.stop().await;
}
