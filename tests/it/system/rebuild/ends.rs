//! Rebuilds that are killed, stopped, or begun by a projector that finds tables of another build.

use std::time::Duration;

use projections::read::{self, JobFilter};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::Connection as _;

use super::{DEADLINE, ended, no_debris, rebuilt, said, strata, work};
use crate::system::invariants;
use crate::system::rig::Rig;

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
            let some = JobFilter {
                limit: 5,
                ..JobFilter::default()
            };
            let look = tokio::time::timeout(Duration::from_secs(1), read::jobs(&rig.pool, &some));
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
