//! Death at the worst moments: each ends in exactly one effect.

use std::time::Duration;

use serde_json::json;

use super::invariants;
use super::rig::Rig;

const DEADLINE: Duration = Duration::from_secs(60);

/// Ten jobs, while one process meets its fault; it is started again without.
async fn orchestrator_meets(fault: &str, dies: bool) {
    let rig = Rig::new(&format!("fault_{}", fault.replace([':', '-'], "_"))).await;
    let _roles = (rig.worker(8, &[]), rig.projector());
    let mut faulty = rig.orchestrator(&[("STRATA_FAULT", fault)]);
    for _ in 0..10 {
        rig.submit("chain", json!({})).await;
    }
    let struck = async || faulty.says("a planted fault strikes");
    rig.eventually("the fault strikes", DEADLINE, struck).await;
    let _heir = if dies {
        let end = tokio::time::Instant::now() + DEADLINE;
        while faulty.is_running() {
            assert!(tokio::time::Instant::now() < end, "it did not die");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Some(rig.orchestrator(&[]))
    } else {
        None
    };
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.events("job_completed").await, 10);
    assert_eq!(rig.events("node_completed").await, 50);
    invariants::check(&rig).await;
}

#[tokio::test]
async fn death_between_append_and_publish() {
    orchestrator_meets("appended-not-published:4", true).await;
}

#[tokio::test]
async fn death_between_publish_and_its_answer() {
    orchestrator_meets("published-not-noted:4", true).await;
}

#[tokio::test]
async fn death_between_the_commit_of_a_report_and_its_answer() {
    orchestrator_meets("committed-not-answered:4", true).await;
}

#[tokio::test]
async fn the_answer_of_a_commit_is_lost() {
    orchestrator_meets("commit-answer-lost:6", false).await;
}

#[tokio::test]
async fn a_claim_is_committed_and_its_answer_is_lost() {
    orchestrator_meets("claim-answer-lost:2", false).await;
}

#[tokio::test]
async fn a_worker_dies_between_the_answer_to_its_report_and_its_ack() {
    let rig = Rig::new("fault_ack").await;
    let _roles = (rig.orchestrator(&[]), rig.projector());
    let mut faulty = rig.worker(8, &[("STRATA_FAULT", "reported-not-acked:3")]);
    for _ in 0..10 {
        rig.submit("chain", json!({})).await;
    }
    let end = tokio::time::Instant::now() + DEADLINE;
    while faulty.is_running() {
        assert!(tokio::time::Instant::now() < end, "it did not die");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let _next = rig.worker(8, &[]);
    rig.all_ended(DEADLINE).await;
    assert_eq!(rig.events("node_completed").await, 50);
    invariants::check(&rig).await;
}
