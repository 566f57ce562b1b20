//! Three revisions, and back to the second: by the API, and by the command that people use.

use serde_json::{Value, json};

use super::stage::{Stage, content};

const ASSET: &str = "query($id: String!) { asset(id: $id) { id platformRefs revision contentHash approval \
     processingStatus currentJobId history { nodes { number contentHash artifacts origin approval actor position \
         rollback { to reason checkedBy intact unverified } reviews { decision reason actor position } \
         job { id request { id actor } } } } } }";

#[tokio::test(flavor = "multi_thread")]
async fn rolling_back_3_to_2_makes_revision_4_and_keeps_every_row_of_the_history() {
    let stage = Stage::with("asset_rollback", 3).await;
    let server = &stage.server;
    let id = json!({"id": stage.asset});
    let reject = "mutation($id: String!) { reject(assetId: $id, reason: \"holes\") { position } }";
    server.data(reject, id.clone()).await;
    stage.settle().await;
    let before = server.data(ASSET, id.clone()).await["asset"].clone();

    let (job, look) = stage.look(2).await;
    assert_eq!((&look["intact"], &look["revision"]), (&json!(1), &json!(2)));
    let preview = stage.roll_back(2, Some(&job), false, true).await;
    assert_eq!(preview["refusal"], Value::Null, "{preview}");
    assert_eq!(
        (&preview["revision"], &preview["from"], &preview["position"]),
        (&json!(4), &json!(3), &Value::Null)
    );
    assert_eq!(stage.rig.events("asset_rolled_back").await, 0);
    let done = stage.roll_back(2, Some(&job), false, false).await;
    assert!(done["position"].is_i64(), "{done}");
    // The same again changes nothing, whatever is known of the artifacts by then.
    std::fs::remove_file(stage.file(2)).unwrap();
    let again = stage.roll_back(2, Some(&job), false, false).await;
    assert_eq!(
        (&again["repeated"], &again["position"], &again["revision"]),
        (&json!(true), &Value::Null, &json!(4))
    );
    assert_eq!(stage.rig.events("asset_rolled_back").await, 1);

    stage.settle().await;
    let after = server.data(ASSET, id).await["asset"].clone();
    for same in ["id", "platformRefs", "currentJobId", "processingStatus"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    assert_eq!(
        (&after["revision"], &after["approval"]),
        (&json!(4), &json!("PENDING_REVIEW"))
    );
    history(&stage, &after["history"]["nodes"], &before, &job);
    // The job that looked is no job of the asset: it makes no revision.
    assert_eq!(stage.rig.events("asset_processing_began").await, 3);
    pages_and_the_past(&stage, &after).await;
}

/// Four rows, the newest first, with who did what.
fn history(stage: &Stage, rows: &Value, before: &Value, job: &str) {
    let rows = rows.as_array().unwrap();
    let numbers: Vec<_> = rows
        .iter()
        .map(|row| row["number"].as_i64().unwrap())
        .collect();
    assert_eq!(numbers, [4, 3, 2, 1]);
    let old = before["history"]["nodes"].as_array().unwrap();
    assert_eq!(&rows[1..], &old[..], "what was there has not changed");
    let [newest, third, second, _] = &rows[..] else {
        panic!("four rows")
    };
    for same in ["artifacts", "contentHash"] {
        assert_eq!(newest[same], second[same], "{same}");
    }
    let expected =
        json!({"to": 2, "reason": "stripes", "checkedBy": job, "intact": 1, "unverified": 0});
    assert_eq!(newest["rollback"], expected);
    assert_eq!(newest["job"], Value::Null);
    // A key did the one, the orchestrator the other, for a key that is named by the request.
    assert!(newest["actor"].as_str().unwrap().starts_with("key_"));
    assert_eq!(third["actor"], "orchestrator");
    assert_eq!(third["job"]["request"]["actor"], "key_of_a_partner");
    let review = &third["reviews"][0];
    assert_eq!(
        (&review["decision"], &review["reason"], &review["actor"]),
        (&json!("REJECTED"), &json!("holes"), &newest["actor"])
    );
    assert!(review["position"].as_i64() > third["position"].as_i64());
    let hash = domain::json::sha256_hex(&content(2));
    assert_eq!(newest["contentHash"], json!(hash), "{}", stage.asset);
}

/// Pages have neither gap nor repetition, and the past knows nothing of what came later.
async fn pages_and_the_past(stage: &Stage, after: &Value) {
    let document = "query($id: String!, $after: String, $newest: Boolean!, $asOf: AsOf) { \
         asset(id: $id, asOf: $asOf) { history(first: 3, after: $after, newestFirst: $newest) { \
             nodes { number reviews { decision } } pageInfo { endCursor hasNextPage } } } }";
    let page = async |newest: bool, after: Value, as_of: Value| {
        let variables = json!({"id": stage.asset, "after": after, "newest": newest, "asOf": as_of});
        stage.server.data(document, variables).await["asset"]["history"].clone()
    };
    let numbers = |page: &Value| -> Vec<i64> {
        let rows = page["nodes"].as_array().unwrap().iter();
        rows.map(|row| row["number"].as_i64().unwrap()).collect()
    };
    let rejected = after["history"]["nodes"][1]["reviews"][0]["position"].clone();
    let then = json!({"pos": rejected.as_i64().unwrap() - 1});
    for (newest, as_of, all) in [
        (true, Value::Null, vec![4, 3, 2, 1]),
        (false, Value::Null, vec![1, 2, 3, 4]),
        (true, then.clone(), vec![3, 2, 1]),
    ] {
        let first = page(newest, Value::Null, as_of.clone()).await;
        let mut found = numbers(&first);
        if first["pageInfo"]["hasNextPage"] == true {
            let cursor = first["pageInfo"]["endCursor"].clone();
            found.extend(numbers(&page(newest, cursor, as_of).await));
        }
        assert_eq!(found, all);
    }
    let past = page(true, Value::Null, then).await;
    assert_eq!(past["nodes"][0]["reviews"], json!([]), "not rejected yet");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_goes_back_by_one_command_that_looks_first() {
    let stage = Stage::with("asset_command", 2).await;
    let (key, asset) = (&stage.server.key, stage.asset.as_str());
    let wish = [
        "asset",
        "rollback",
        asset,
        "--to",
        "1",
        "--reason",
        "bad tiles",
    ];
    let preview = stage
        .strata(key, &[&wish[..], &["--dry-run"]].concat())
        .await;
    assert_eq!(preview.code, 0, "{}", preview.err);
    for text in ["3 would become current", "1 intact", "silver://made/1.bin"] {
        assert!(preview.out.contains(text), "{text}: {}", preview.out);
    }
    assert!(
        preview.err.contains("not touched: the catalog"),
        "{}",
        preview.err
    );
    assert_eq!(stage.rig.events("asset_rolled_back").await, 0);
    let done = stage.strata(key, &wish).await;
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("revision  3 is current"), "{}", done.out);
    let looks = stage
        .rig
        .count("select count(*) from dagapp.events where type = 'request_submitted'")
        .await;
    let again = stage.strata(key, &wish).await;
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(again.out.contains("so it was before"), "{}", again.out);
    let now = stage
        .rig
        .count("select count(*) from dagapp.events where type = 'request_submitted'")
        .await;
    assert_eq!(now, looks, "what was done before needs no look");
    reviews_are_decided_and_shown(&stage).await;
}

async fn reviews_are_decided_and_shown(stage: &Stage) {
    let (key, asset) = (&stage.server.key, stage.asset.as_str());
    stage.settle().await;
    let approved = stage
        .strata(key, &["asset", "approve", asset, "--revision", "3"])
        .await;
    assert_eq!(approved.code, 0, "{}", approved.err);
    let overtaken = stage
        .strata(
            key,
            &["asset", "reject", asset, "--revision", "1", "--reason", "x"],
        )
        .await;
    assert_eq!(overtaken.code, 5, "{}", overtaken.err);
    stage.settle().await;
    let history = stage
        .strata(key, &["asset", "history", asset, "--limit", "2"])
        .await;
    for text in ["back to 1: bad tiles", "approved by key_", "--before 2"] {
        let all = format!("{}{}", history.out, history.err);
        assert!(all.contains(text), "{text}: {all}");
    }
    let rest = [
        "asset", "history", asset, "--before", "2", "--output", "json",
    ];
    let rest = stage.strata(key, &rest).await;
    let rest: Value = serde_json::from_str(&rest.out).unwrap();
    assert_eq!(rest["items"][0]["number"], 1, "{rest}");
    assert_eq!(
        rest["items"][0]["job"]["request"]["actor"],
        "key_of_a_partner"
    );
    assert_eq!(rest["next"], Value::Null);

    std::fs::remove_file(stage.file(2)).unwrap();
    let gone = ["asset", "rollback", asset, "--to", "2", "--reason", "no"];
    let gone = stage.strata(key, &gone).await;
    assert_eq!(gone.code, 5, "{}", gone.err);
    assert!(
        gone.err
            .contains("artifact `data` (silver://made/2.bin) is missing"),
        "{}",
        gone.err
    );
    assert!(gone.err.contains("backup"), "{}", gone.err);
    let nobody = ["asset", "history", "00000000000000000000000000000000"];
    assert_eq!(stage.strata(key, &nobody).await.code, 4);
}
