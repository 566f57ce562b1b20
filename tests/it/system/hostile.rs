//! Garbage, oversized and foreign messages on every subject: consumers go on.

use std::time::Duration;

use domain::priority::Priority;
use serde_json::json;

use super::invariants;
use super::rig::Rig;

const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn messages_that_make_no_sense_are_put_aside_and_work_goes_on() {
    let rig = Rig::new("hostile").await;
    let orchestrator = rig.orchestrator(&[]);
    let _roles = (rig.worker(4, &[]), rig.projector());
    rig.submit("one", json!({})).await;
    rig.all_ended(DEADLINE).await;

    let bus = rig.bus();
    let owner: String = {
        let row = sqlx::query_scalar("select owner_id::text from dagapp.owners")
            .fetch_one(&rig.pool)
            .await;
        row.unwrap()
    };
    let owner = domain::id::OwnerId(owner.parse().unwrap());
    let subjects = [
        bus.subjects.orchestrator_jobs(),
        bus.subjects.tasks("functionapp-tasks", Priority::Normal),
        bus.subjects.tasks("container-tasks", Priority::High),
        bus.subjects.report(owner),
        bus.subjects.reports_any(),
        bus.subjects.results_any(),
        bus.subjects.heartbeats(),
        bus.subjects.job_changed(),
        bus.subjects.log_grew(),
        bus.subjects.owner_left(),
        bus.subjects.dead_letters(),
    ];
    let foreign = serde_json::to_vec(&json!({
        "task_id": "job_00000000000000000000000000000001_x_1",
        "job_id": "job_00000000000000000000000000000001", "node_id": "x", "handler": "echo",
        "params": {}, "timeout_seconds": 5, "retry_count": 0, "attempt": 1, "epoch": 1,
        "queue": "functionapp-tasks", "priority": "normal",
        "owner": "00000000-0000-0000-0000-000000000001",
    }))
    .unwrap();
    let payloads: [Vec<u8>; 5] = [
        vec![0xff, 0xfe, 0, 1],
        b"{".to_vec(),
        b"{\"job_id\": null}".to_vec(),
        vec![b'x'; 700 * 1024],
        foreign,
    ];
    for subject in subjects {
        for payload in &payloads {
            // A stream refuses what is too large by itself.
            let sent = bus
                .client
                .publish(subject.clone(), payload.clone().into())
                .await;
            sent.unwrap();
        }
    }
    bus.client.flush().await.unwrap();

    for _ in 0..5 {
        rig.submit("chain", json!({})).await;
    }
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.events("job_completed").await, 6);
    let kept = async || rig.count("select count(*) from dagapp.dead_letters").await >= 15;
    rig.eventually("dead letters are kept", DEADLINE, kept)
        .await;
    let letters = projections::dead_letters::list(&rig.pool, None, 1_000).await;
    for letter in letters.unwrap() {
        assert!(!letter.reason.is_empty());
        assert!(letter.payload.len() <= 64 * 1024);
    }
    assert_eq!(orchestrator.terminate(DEADLINE).await, Some(0));
    invariants::check(&rig).await;
}
