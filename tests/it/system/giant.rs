//! Size: a giant beside small jobs, and many tasks at once within the budget of connections.

use std::time::Duration;

use serde_json::json;

use super::invariants;
use super::rig::Rig;

const DEADLINE: Duration = Duration::from_secs(280);

#[tokio::test]
async fn a_thousand_tasks_at_once_stay_within_the_budget_of_connections() {
    let rig = Rig::new("budget").await;
    let orchestrator = rig.orchestrator(&[]);
    let _roles = (rig.worker(500, &[]), rig.worker(500, &[]), rig.projector());
    rig.submit("big", json!({"items": 1000})).await;
    let mut most = 0;
    let end = tokio::time::Instant::now() + DEADLINE;
    while rig.count("select count(*) from dagapp.open_jobs").await != 0 {
        // Ours are those of this test: the pool that asks, and its appender.
        let taken = rig
            .count(
                "select count(*) from pg_stat_activity where datname = current_database()
                 and backend_type = 'client backend'",
            )
            .await;
        most = most.max(taken);
        assert!(tokio::time::Instant::now() < end);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(orchestrator.says("database connections: at most 5"));
    // 5 of the orchestrator, 8 of the projector, and at most 5 of this test.
    assert!(most <= 18, "{most} connections");
    invariants::check(&rig).await;
}

#[tokio::test]
async fn small_jobs_do_not_wait_behind_a_giant() {
    let rig = Rig::new("giant").await;
    let _roles = (rig.orchestrator(&[]), rig.worker(32, &[]), rig.projector());
    let giant = rig.submit("big", json!({"items": 100_000})).await;
    let busy = async || rig.events("node_completed").await >= 2_000;
    rig.eventually("the giant is at work", DEADLINE, busy).await;
    let mut beside = Vec::new();
    for _ in 0..100 {
        beside.push(passed_by(&rig).await);
    }
    assert_eq!(
        rig.end_of(giant.job_id).await,
        None,
        "the giant ended too soon"
    );
    beside.sort_unstable();
    let median = beside[beside.len() / 2];
    // Its window (64 tasks), and what is committed while its own few steps are: a thousandth of it.
    assert!(median <= 400, "{median} tasks of the giant went first");
    rig.writer
        .cancel(giant.job_id, "seen enough", "test")
        .await
        .unwrap();
    rig.all_ended(DEADLINE).await;
    invariants::check(&rig).await;
}

/// How many tasks of the giant are completed between the submission of a small job and its end: what
/// stands in its way, however fast the machine is.
async fn passed_by(rig: &Rig) -> i64 {
    let job = rig.submit("one", json!({})).await;
    let ended = async || rig.end_of(job.job_id).await.is_some();
    rig.eventually("a small job ends", DEADLINE, ended).await;
    sqlx::query_scalar(
        "select count(*) from dagapp.events
         where type = 'node_completed' and pos > $1
           and pos < (select max(pos) from dagapp.events where stream_id = $2)",
    )
    .bind(i64::try_from(job.pos).unwrap())
    .bind(format!("job:{}", job.job_id))
    .fetch_one(&rig.pool)
    .await
    .unwrap()
}
