//! Archived while jobs run; what is archived is refused and never denied; and all is as before when it is back.

use std::sync::Arc;

use commands::log::{Expected, LogError};
use domain::handler::Catalog;
use projections::Error;
use projections::travel::{AsOf, Traveller};
use serde_json::{Value, json};

use super::{DEADLINE, done, ended, floor, head, projected, with_small_partitions};
use crate::api::server::Server;
use crate::log::contract::to;
use crate::system::invariants;
use crate::system::rig::Rig;

const SIZE: u32 = 64;

#[tokio::test]
async fn what_is_archived_while_jobs_run_is_refused_by_name_and_comes_back_as_it_was() {
    let rig = Rig::new("archive_whole").await;
    with_small_partitions(&rig, SIZE).await;
    let _roles = (rig.orchestrator(&[]), rig.worker(16, &[]), rig.projector());
    let old = rig.submit("chain", json!({})).await.job_id;
    let asset = rig.submit_for("field", "one").await.asset_id.unwrap();
    for _ in 0..10 {
        rig.submit("fan", json!({"items": 12})).await;
    }
    rig.all_ended(DEADLINE).await;
    projected(&rig).await;
    let traveller = Traveller::new(rig.pool.clone(), Arc::new(Catalog::shipped()));
    let end = rig.count("select pos from dagapp.log_head").await;
    let was = as_it_was(&traveller, &old.to_string(), end).await;
    let events = rig.count("select count(*) from dagapp.events").await;

    // Others go on meanwhile, on the asset too.
    let before = head(&rig).await;
    for _ in 0..20 {
        rig.submit("fan", json!({"items": 4})).await;
    }
    let made = ["archive", "make", "--before", &before, "--drop"];
    let made = done(&rig, &made).await;
    let archived = floor(&rig).await;
    assert!(
        archived >= end - 2 * i64::from(SIZE),
        "{made}: {archived} of {end}"
    );
    assert_eq!(
        made["dropped"],
        json!(made["archived"].as_array().unwrap().len())
    );
    let again = rig.submit_for("field", "one").await;
    assert_eq!(again.asset_id, Some(asset), "the asset is known still");
    rig.all_ended(DEADLINE).await;
    projected(&rig).await;

    refused(&rig, &traveller, &old.to_string(), archived).await;
    audited(&rig, archived).await;

    // A day of the past is needed again.
    let back = done(&rig, &["archive", "restore", "1"]).await;
    assert_eq!(
        back["restored"].as_array().unwrap().len(),
        made["archived"].as_array().unwrap().len()
    );
    assert_eq!(floor(&rig).await, 0);
    assert!(rig.count("select count(*) from dagapp.events").await > events);
    assert_eq!(as_it_was(&traveller, &old.to_string(), end).await, was);
    let report = done(&rig, &["audit", "verify"]).await;
    assert_eq!(
        (&report["from_pos"], &report["ok"]),
        (&json!(1), &json!(true)),
        "{report}"
    );
    invariants::check(&rig).await;
    let (code, _, talk) = ended(&rig, &["projection", "rebuild", "--all", "--verify"]).await;
    assert_eq!(code, Some(0), "{talk}");
}

/// A job with its nodes, as of a position.
async fn as_it_was(traveller: &Traveller, job: &str, pos: i64) -> String {
    let moment = traveller.moment(AsOf::Pos(pos)).await.unwrap();
    let found = traveller.job(None, job, moment).await.unwrap().unwrap();
    format!("{:?} {:?}", found.row(), found.nodes(100).await.unwrap())
}

/// Every way to read what is archived says so.
async fn refused(rig: &Rig, traveller: &Traveller, old: &str, floor: i64) {
    let is = |error: Error| {
        assert!(
            matches!(error, Error::Archived(upto) if upto == floor),
            "{error}"
        )
    };
    is(traveller.moment(AsOf::Pos(floor)).await.unwrap_err());
    is(traveller.moment(AsOf::Pos(1)).await.unwrap_err());
    let now = traveller.now().await.unwrap();
    is(traveller.job(None, old, now).await.unwrap_err());
    assert!(
        traveller
            .job(Some("others"), old, now)
            .await
            .unwrap()
            .is_none(),
        "nobody else learns of it"
    );
    is(projections::read::log_after(&rig.pool, floor - 1, 10)
        .await
        .unwrap_err());
    assert!(
        projections::read::log_after(&rig.pool, floor, 10)
            .await
            .is_ok()
    );
    let stream = format!("job:{old}");
    let read = rig
        .writer
        .log
        .read_stream(&stream, 0, 10)
        .await
        .unwrap_err();
    assert!(
        matches!(read, LogError::Archived(upto) if upto == u64::try_from(floor).unwrap()),
        "{read}"
    );
    assert!(rig.writer.log.read_log(0, 10).await.is_err());
    assert!(rig.writer.log.read_streams(&[stream]).await.is_err());

    refused_by_the_api(rig, old, now.pos).await;
    let (code, _, talk) = ended(rig, &["projection", "rebuild", "--all"]).await;
    assert_ne!(code, Some(0));
    assert!(
        talk.contains("archived") && talk.contains("strata archive restore"),
        "{talk}"
    );
}

async fn refused_by_the_api(rig: &Rig, old: &str, now: i64) {
    let server = Server::start(rig).await;
    for query in [
        format!("{{ job(id: \"{old}\") {{ events {{ edges {{ cursor }} }} }} }}"),
        format!("{{ job(id: \"{old}\", asOf: {{ pos: {now} }}) {{ status }} }}"),
        "{ jobs(asOf: { pos: 1 }) { edges { cursor } } }".to_owned(),
        format!(
            "{{ stateDiff(jobId: \"{old}\", from: {{ pos: 1 }}, to: {{ pos: 2 }}) {{ changed }} }}"
        ),
    ] {
        let answer = server.ask(&server.key, &query, json!({})).await;
        assert_eq!(
            answer["errors"][0]["extensions"]["code"], "ARCHIVED",
            "{query}: {answer:#}"
        );
    }
    // Read models keep what they have.
    let listed = server
        .data(
            &format!("{{ job(id: \"{old}\") {{ status }} }}"),
            Value::Null,
        )
        .await;
    assert_eq!(listed["job"]["status"], "COMPLETED");
}

/// Verifying says what it has not read, and reads it when it is asked to.
async fn audited(rig: &Rig, floor: i64) {
    let report = done(rig, &["audit", "verify"]).await;
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(report["from_pos"], json!(floor + 1));
    assert_eq!(
        (&report["archived_upto"], &report["archive_read"]),
        (&json!(floor), &json!(false))
    );
    let (_, _, talk) = ended(rig, &["audit", "verify"]).await;
    assert!(
        talk.contains(&format!(
            "positions 1 to {floor} are archived and were not read"
        )),
        "{talk}"
    );
    let report = done(rig, &["audit", "verify", "--archive"]).await;
    let head = rig.count("select pos from dagapp.log_head").await;
    assert_eq!(
        (&report["ok"], &report["events"]),
        (&json!(true), &json!(head)),
        "{report}"
    );
    assert_eq!(report["archive_read"], true);
}

#[tokio::test]
async fn a_partition_with_an_open_job_stays_and_the_job_is_named() {
    let rig = Rig::new("archive_open").await;
    with_small_partitions(&rig, SIZE).await;
    let open = rig.submit("one", json!({})).await;
    for n in 0..20 {
        let append = to(&format!("job:filler{n}"), Expected::Version(0), 10);
        rig.writer.appender.append(&[append]).await.unwrap();
    }
    let before = head(&rig).await;
    let (code, _, talk) = ended(&rig, &["archive", "make", "--before", &before]).await;
    assert_eq!(code, Some(5), "{talk}");
    assert!(
        talk.contains(&format!("request:{}", open.request_id)),
        "{talk}"
    );
    assert!(talk.contains("it has not ended"), "{talk}");
    assert_eq!(floor(&rig).await, 0);
    assert_eq!(
        rig.events("workflow_carried").await,
        0,
        "nothing is carried in vain"
    );
    // What is too young is no candidate.
    let made = done(&rig, &["archive", "make", "--before", "1h"]).await;
    assert_eq!(made["archived"], json!([]));
}
