//! What partners see of their requests and assets, and of nobody else's.

use serde_json::{Value, json};

use super::stage::Stage;

const BLOCKS: [&str; 10] = [
    "asset",
    "release",
    "job_status",
    "progress",
    "outputs",
    "services",
    "approval",
    "versions",
    "error",
    "warnings",
];

fn purple() -> Value {
    json!({
        "platform_id": "ddh", "workflow_id": "hello_world", "title": "Purple",
        "platform_refs": {"dataset_id": "1", "resource_id": "2", "version_id": "Version Purple!!"},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_has_all_blocks_from_the_first_moment_on() {
    let stage = Stage::new("rest_status").await;
    let sent = stage
        .post(&stage.writer, "/api/platform/submit", &purple())
        .await
        .expect(202);
    let id = sent["request_id"].as_str().unwrap();
    // At once: the read models are waited for.
    let status = stage
        .get(&stage.reader, &format!("/api/platform/status/{id}"))
        .await
        .expect(200);
    for block in BLOCKS {
        assert!(status.get(block).is_some(), "{block} is missing: {status}");
    }
    assert_eq!(
        (&status["job_id"], &status["job_status"]),
        (&Value::Null, &json!("PENDING"))
    );
    assert_eq!(
        status["asset"]["platform_refs"],
        purple()["platform_refs"],
        "byte by byte (O-07)"
    );
    assert_eq!(status["asset"]["title"], "Purple");
    assert_eq!(
        (&status["release"], &status["error"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(status["approval"]["state"], "pending_review");
    // By the id of its job, and by its older names.
    let request: domain::id::RequestId = id.parse().unwrap();
    let job = domain::id::JobId::of_request(request);
    for path in [
        format!("/api/platform/status/{job}"),
        format!("/platform/status/{id}"),
        format!("/platform/dag_status/{id}"),
    ] {
        let same = stage.get(&stage.reader, &path).await.expect(200);
        assert_eq!(same["request_id"], id, "{path}");
    }
    stage
        .rig
        .writer
        .cancel(job, "not needed", "test")
        .await
        .unwrap();
    stage.caught_up().await;
    let status = stage
        .get(&stage.reader, &format!("/api/platform/status/{id}"))
        .await
        .expect(200);
    assert_eq!(status["job_status"], "CANCELLED");
    let error = &status["error"];
    assert_eq!(
        (&error["code"], &error["category"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    assert_eq!(
        (&error["message"], &error["user_fixable"]),
        (&json!("not needed"), &json!(true))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_organisation_finds_nothing() {
    let stage = Stage::new("rest_foreign").await;
    let sent = stage
        .post(&stage.writer, "/api/platform/submit", &purple())
        .await
        .expect(202);
    stage.caught_up().await;
    let id = sent["request_id"].as_str().unwrap();
    let asset = sent["asset_id"].as_str().unwrap();
    let job = domain::id::JobId::of_request(id.parse().unwrap());
    for path in [
        format!("/api/platform/status/{id}"),
        format!("/api/platform/status/{job}"),
        format!("/api/jobs/status/{id}"),
        format!("/api/jobs/{job}/result"),
        format!("/api/platform/catalog/assets/{asset}"),
    ] {
        let code = if path.contains("assets") { 200 } else { 0 };
        if code == 200 {
            stage.get(&stage.reader, &path).await.expect(code);
        }
        stage
            .get(&stage.foreign, &path)
            .await
            .refused(404, "NOT_FOUND");
    }
    for (path, body) in [
        ("approve", json!({"asset_id": asset})),
        ("reject", json!({"request_id": id, "reason": "r"})),
        ("unpublish", json!({"asset_id": asset, "dry_run": true})),
        ("unpublish", json!({"asset_id": asset})),
        ("resubmit", json!({"request_id": id, "force": true})),
    ] {
        let path = format!("/api/platform/{path}");
        stage
            .post(&stage.foreign, &path, &body)
            .await
            .refused(404, "NOT_FOUND");
    }
    // Nor may they name our assets as theirs.
    stage
        .post(&stage.foreign, "/api/platform/submit", &purple())
        .await
        .refused(403, "ASSET_OF_ANOTHER");
    let found = stage
        .get(
            &stage.foreign,
            "/api/platform/catalog/lookup?platform_id=ddh",
        )
        .await
        .expect(200);
    assert_eq!(found["assets"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_are_found_by_their_refs() {
    let stage = Stage::new("rest_lookup").await;
    stage
        .post(&stage.writer, "/api/platform/submit", &purple())
        .await
        .expect(202);
    let layer = json!({"platform_id": "arcgis", "workflow_id": "hello_world", "platform_refs": {"item_id": "x", "layer_index": 3}});
    let layer = stage
        .post(&stage.writer, "/api/platform/submit", &layer)
        .await
        .expect(202);
    stage.caught_up().await;
    let count = async |query: &str| {
        let path = format!("/api/platform/catalog/lookup?{query}");
        let found = stage.get(&stage.reader, &path).await.expect(200);
        found["assets"].as_array().unwrap().len()
    };
    assert_eq!(count("platform_id=ddh&ref.dataset_id=1").await, 1);
    assert_eq!(
        count("platform_id=ddh&ref.dataset_id=1&ref.version_id=Version%20Purple!!").await,
        1
    );
    assert_eq!(count("platform_id=ddh&ref.dataset_id=2").await, 0);
    assert_eq!(
        count("platform_id=arcgis&ref.layer_index=3").await,
        1,
        "a number is found too"
    );
    for bad in [
        "",
        "platform_id=ddh&colour=red",
        "platform_id=A",
        "platform_id=ddh&ref.=x",
        "platform_id=ddh&ref.a=%00",
    ] {
        let path = format!("/api/platform/catalog/lookup?{bad}");
        stage
            .get(&stage.reader, &path)
            .await
            .refused(400, "MALFORMED_QUERY");
    }
    let exact = json!({"platform_id": "arcgis", "platform_refs": {"layer_index": 3}});
    let found = stage
        .post(&stage.reader, "/api/platform/catalog/lookup", &exact)
        .await
        .expect(200);
    assert_eq!(found["assets"][0]["asset_id"], layer["asset_id"]);
    let exact = json!({"platform_id": "arcgis", "platform_refs": {"layer_index": "3"}});
    let found = stage
        .post(&stage.reader, "/api/platform/catalog/lookup", &exact)
        .await
        .expect(200);
    assert_eq!(found["assets"], json!([]));
}
