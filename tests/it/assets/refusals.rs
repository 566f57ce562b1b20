//! What is never brought back, and who may not ask.

use std::os::unix::fs::symlink;

use domain::access::Role;
use domain::json::sha256_hex;
use serde_json::{Value, json};

use super::stage::{CHECK, Stage};
use crate::api::server::{ORG, code_of};

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_or_changed_by_one_byte_is_not_brought_back() {
    let stage = Stage::with("asset_damage", 3).await;
    let (before, _) = stage.look(2).await;
    let file = stage.file(2);
    let mut content = std::fs::read(&file).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    std::fs::write(&file, &content).unwrap();
    let (changed, look) = stage.look(2).await;
    assert_eq!(look["changed"], 1, "{look}");
    assert_eq!(look["findings"][0]["found"], sha256_hex(&content));
    refused(&stage, &changed, "ARTIFACT_CHANGED", "silver://made/2.bin").await;

    std::fs::remove_file(&file).unwrap();
    let (missing, look) = stage.look(2).await;
    assert_eq!(look["missing"], 1, "{look}");
    refused(&stage, &missing, "ARTIFACT_MISSING", "silver://made/2.bin").await;

    // The right content, reached by a link, is not what was made there.
    let elsewhere = stage.rig.dir.join("elsewhere.bin");
    std::fs::write(&elsewhere, super::stage::content(2)).unwrap();
    symlink(&elsewhere, &file).unwrap();
    let (linked, look) = stage.look(2).await;
    assert_eq!(look["changed"], 1, "{look}");
    refused(&stage, &linked, "ARTIFACT_CHANGED", "link").await;

    // Brought back byte for byte, it counts again; a look of before is still one.
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, super::stage::content(2)).unwrap();
    let plan = stage.roll_back(2, Some(&before), false, true).await;
    assert_eq!(plan["refusal"], Value::Null, "{plan}");
    let (mended, _) = stage.look(2).await;
    let done = stage.roll_back(2, Some(&mended), false, false).await;
    assert_eq!(done["revision"], 4, "{done}");
}

/// Refused with or without acceptance, in a preview and in earnest, with the place and a remedy.
async fn refused(stage: &Stage, job: &str, code: &str, place: &str) {
    for accept in [false, true] {
        let plan = stage.roll_back(2, Some(job), accept, true).await;
        assert_eq!(plan["refusal"]["code"], code, "{plan}");
        let answer = stage.roll_back(2, Some(job), accept, false).await;
        assert_eq!(code_of(&answer), code, "{answer}");
        let error = &answer["errors"][0];
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("`data`") && message.contains(place),
            "{message}"
        );
        assert_eq!(error["extensions"]["category"], "conflict");
        assert!(error["extensions"]["remediation"].as_str().unwrap().len() > 20);
    }
    assert_eq!(stage.rig.events("asset_rolled_back").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_can_verify_needs_a_person_who_accepts_it_and_that_is_recorded() {
    let mut stage = Stage::with("asset_unverified", 1).await;
    std::fs::write(stage.file(9), b"unhashed").unwrap();
    let artifacts = json!([
        {"name": "data", "uri": "silver://made/1.bin", "sha256": sha256_hex(&super::stage::content(1))},
        {"name": "side", "uri": "silver://made/9.bin"},
        {"name": "far", "uri": "https://example.org/x.tif", "sha256": sha256_hex(b"x")},
    ]);
    stage.make(b"two", artifacts).await;
    stage.make(b"three", json!([])).await;
    let (job, look) = stage.look(2).await;
    assert_eq!(
        (&look["intact"], &look["unverifiable"]),
        (&json!(1), &json!(2)),
        "{look}"
    );
    let plan = stage.roll_back(2, Some(&job), false, true).await;
    assert_eq!(plan["refusal"]["code"], "NOT_VERIFIABLE", "{plan}");
    let message = plan["refusal"]["message"].as_str().unwrap();
    assert!(
        message.contains("`side`") && message.contains("1 more"),
        "{message}"
    );
    let done = stage.roll_back(2, Some(&job), true, false).await;
    assert_eq!(done["revision"], 4, "{done}");
    stage.settle().await;
    let document = "query($id: String!) { asset(id: $id) { history(first: 1) { nodes { \
                    rollback { intact unverified checkedBy } } } } }";
    let told = stage
        .server
        .data(document, json!({"id": stage.asset}))
        .await;
    assert_eq!(
        told["asset"]["history"]["nodes"][0]["rollback"],
        json!({"intact": 1, "unverified": 2, "checkedBy": job})
    );
    // A revision that lists nothing cannot be looked at, and is accepted or refused as a whole.
    let plan = stage.roll_back(3, None, false, true).await;
    assert_eq!(plan["refusal"]["code"], "NOT_VERIFIABLE", "{plan}");
    let done = stage.roll_back(3, None, true, false).await;
    assert_eq!(done["revision"], 5, "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_is_not_for_readers_or_strangers_and_rests_on_a_look_at_that_revision() {
    let stage = Stage::with("asset_strangers", 2).await;
    let (job, _) = stage.look(1).await;
    for (org, role, code) in [
        (ORG, Role::Reader, "FORBIDDEN"),
        (ORG, Role::Writer, "FORBIDDEN"),
        ("strangers", Role::Admin, "NOT_FOUND"),
    ] {
        let key = stage.server.make_key(org, role, false).await;
        for dry in [false, true] {
            let answer = stage.roll_back_as(&key, 1, Some(&job), true, dry).await;
            assert_eq!(code_of(&answer), code, "{org} {role:?}: {answer}");
            let answer = stage.roll_back_as(&key, 1, None, true, dry).await;
            assert_eq!(code_of(&answer), code, "{org} {role:?}: {answer}");
        }
    }
    let stranger = stage.server.make_key("strangers", Role::Admin, false).await;
    let answer = stage
        .server
        .ask(&stranger, CHECK, json!({ "job": job }))
        .await;
    assert_eq!(answer["data"]["artifactCheck"], Value::Null, "{answer}");

    let answer = stage.roll_back(1, None, true, false).await;
    assert_eq!(code_of(&answer), "NOT_CHECKED", "{answer}");
    let (other, _) = stage.look(2).await;
    let answer = stage.roll_back(1, Some(&other), true, false).await;
    assert_eq!(code_of(&answer), "OTHER_CHECK", "{answer}");
    // A job that looked at nothing is no evidence.
    let some = stage.rig.submit("one", json!({})).await;
    stage.rig.all_ended(crate::api::server::DEADLINE).await;
    let answer = stage
        .roll_back(1, Some(&some.job_id.to_string()), true, false)
        .await;
    assert_eq!(code_of(&answer), "NOT_FOUND", "{answer}");
    let answer = stage.roll_back(2, Some(&other), true, false).await;
    assert_eq!(code_of(&answer), "ALREADY_CURRENT", "{answer}");
    let answer = stage.roll_back(7, None, true, false).await;
    assert_eq!(code_of(&answer), "UNKNOWN_REVISION", "{answer}");
    assert_eq!(stage.rig.events("asset_rolled_back").await, 0);
}
