//! Reviews: only an admin, only the current revision, and never anything lost.

use serde_json::{Value, json};

use super::stage::Stage;

async fn asset(stage: &Stage, version: &str) -> (String, String) {
    let body = json!({
        "platform_id": "ddh", "workflow_id": "hello_world",
        "platform_refs": {"dataset_id": "1", "resource_id": "2", "version_id": version},
    });
    let sent = stage
        .post(&stage.writer, "/api/platform/submit", &body)
        .await
        .expect(202);
    let text = |name: &str| sent[name].as_str().unwrap().to_owned();
    (text("asset_id"), text("request_id"))
}

fn job_of(request: &str) -> String {
    domain::id::JobId::of_request(request.parse().unwrap()).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_is_approved_revoked_and_rejected_in_the_legal_order() {
    let stage = Stage::new("rest_review").await;
    let (id, request) = asset(&stage, "v1").await;
    let review = async |what: &str, body: Value| {
        stage
            .post(&stage.admin, &format!("/api/platform/{what}"), &body)
            .await
    };
    review("approve", json!({"asset_id": id}))
        .await
        .refused(409, "NO_REVISION");
    stage.complete(&id, &job_of(&request)).await;
    review("approve", json!({"asset_id": id, "revision": 7}))
        .await
        .refused(409, "UNKNOWN_REVISION");
    review("revoke", json!({"asset_id": id, "reason": "r"}))
        .await
        .refused(409, "ILLEGAL_APPROVAL");
    let done = review("approve", json!({"request_id": request, "revision": 1}))
        .await
        .expect(200);
    assert_eq!(
        (&done["state"], &done["changed"]),
        (&json!("approved"), &json!(true))
    );
    let again = review("approve", json!({"asset_id": id})).await.expect(200);
    assert_eq!(
        (&again["changed"], &again["position"]),
        (&json!(false), &Value::Null)
    );
    review("revoke", json!({"asset_id": id, "reason": "withdrawn"}))
        .await
        .expect(200);
    stage.caught_up().await;
    let status = stage
        .get(&stage.reader, &format!("/api/platform/status/{request}"))
        .await
        .expect(200);
    assert_eq!(
        status["approval"],
        json!({"state": "revoked", "revision": 1, "reason": "withdrawn"})
    );
    assert_eq!(status["release"]["revision"], 1);
    assert_eq!(status["versions"].as_array().unwrap().len(), 1);
    let (other, request) = asset(&stage, "v2").await;
    stage.complete(&other, &job_of(&request)).await;
    review("reject", json!({"asset_id": other, "reason": "wrong"}))
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_needs_an_admin_an_asset_and_for_a_no_a_reason() {
    let stage = Stage::new("rest_review_form").await;
    let (id, request) = asset(&stage, "v1").await;
    for what in ["approve", "reject", "revoke", "unpublish"] {
        let path = format!("/api/platform/{what}");
        let body = json!({"asset_id": id, "reason": "r"});
        for key in [&stage.reader, &stage.writer] {
            stage
                .post(key, &path, &body)
                .await
                .refused(403, "FORBIDDEN");
        }
        let both = json!({"asset_id": id, "request_id": request});
        let found = stage.post(&stage.admin, &path, &both).await.problems();
        assert!(
            found.contains(&("asset_id".to_owned(), "MISSING".to_owned())),
            "{found:?}"
        );
    }
    let found = stage
        .post(
            &stage.admin,
            "/api/platform/reject",
            &json!({"asset_id": "x", "why": "r"}),
        )
        .await
        .problems();
    let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["asset_id", "reason", "why"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unpublishing_hides_and_keeps() {
    let stage = Stage::new("rest_unpublish").await;
    let (id, request) = asset(&stage, "v1").await;
    let events = stage.events().await;
    let look = json!({"asset_id": id, "dry_run": true});
    let dry = stage
        .post(&stage.admin, "/api/platform/unpublish", &look)
        .await
        .expect(200);
    assert_eq!(dry["changed"], false);
    assert_eq!(stage.events().await, events);
    let done = stage
        .post(
            &stage.admin,
            "/api/platform/unpublish",
            &json!({"asset_id": id}),
        )
        .await
        .expect(200);
    assert_eq!(done["changed"], true);
    stage.caught_up().await;
    let path = format!("/api/platform/catalog/assets/{id}");
    stage
        .get(&stage.reader, &path)
        .await
        .refused(404, "NOT_FOUND");
    let kept = stage
        .get(&stage.reader, &format!("{path}?with_deleted=true"))
        .await
        .expect(200);
    assert_eq!(kept["asset"]["deleted"], true);
    let found = stage
        .get(
            &stage.reader,
            "/api/platform/catalog/lookup?platform_id=ddh",
        )
        .await
        .expect(200);
    assert_eq!(found["assets"], json!([]));
    let status = stage
        .get(&stage.reader, &format!("/api/platform/status/{request}"))
        .await
        .expect(200);
    assert_eq!(status["warnings"], json!(["the asset is deleted"]));
    // New work for it needs it back first.
    let body = json!({
        "platform_id": "ddh", "workflow_id": "hello_world", "inputs": {"name": "new"},
        "platform_refs": {"dataset_id": "1", "resource_id": "2", "version_id": "v1"},
    });
    stage
        .post(&stage.writer, "/api/platform/submit", &body)
        .await
        .refused(409, "ASSET_DELETED");
}
