//! Submissions of every source: accepted once, refused with everything that is wrong, looked at without a trace.

use domain::platform::Command;
use serde_json::{Value, json};

use super::stage::Stage;

const SUBMIT: &str = "/api/platform/submit";

fn greeting(version: &str) -> Value {
    json!({
        "platform_id": "ddh", "workflow_id": "hello_world", "inputs": {"name": "Ada"},
        "platform_refs": {"dataset_id": "0038272", "resource_id": "shapefile", "version_id": version},
    })
}

fn ddh() -> Value {
    json!({
        "dataset_id": "0038272", "resource_id": "roads", "version_id": "v1", "data_type": "vector",
        "container_name": "bronze", "file_name": "roads.gpkg", "title": "Roads", "access_level": "OUO",
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_acknowledged_before_any_job_exists_and_once() {
    let stage = Stage::new("rest_once").await;
    let first = stage
        .post(&stage.writer, SUBMIT, &greeting("2025-01"))
        .await
        .expect(202);
    assert_eq!(first["status"], "accepted");
    assert_eq!(first["job_id"], Value::Null);
    assert_eq!(first["asset_id"], "1bf56c9b14c30fa7df4a411b86ba4d2b");
    let id = first["request_id"].as_str().unwrap();
    assert!(
        first["monitor_url"]
            .as_str()
            .unwrap()
            .ends_with(&format!("/api/platform/status/{id}"))
    );
    let events = stage.events().await;
    for alias in [SUBMIT, "/platform/submit", "/platform/submit_dag"] {
        let again = stage
            .post(&stage.writer, alias, &greeting("2025-01"))
            .await
            .expect(200);
        assert_eq!(
            (&again["status"], &again["request_id"]),
            (&json!("existing"), &first["request_id"])
        );
    }
    assert_eq!(stage.events().await, events, "a repetition writes nothing");
    let other = json!({"callback_url": "https://partner.example/hook"});
    let mut body = greeting("2025-01");
    body["callback_url"] = other["callback_url"].clone();
    stage
        .post(&stage.writer, SUBMIT, &body)
        .await
        .refused(409, "OTHER_BODY");
    // The same refs are the same asset, whatever is done to it.
    let mut body = greeting("2025-01");
    body["inputs"] = json!({"name": "Bob"});
    let second = stage.post(&stage.writer, SUBMIT, &body).await.expect(202);
    assert_eq!(second["asset_id"], first["asset_id"]);
    assert_ne!(second["request_id"], first["request_id"]);
    assert_eq!(stage.rig.events("asset_created").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_stands_for_one_body() {
    let stage = Stage::new("rest_key").await;
    let key = [("idempotency-key", "order 7")];
    let submit = async |body: &Value| stage.post_with(&stage.writer, SUBMIT, body, &key).await;
    let first = submit(&greeting("a")).await.expect(202);
    let again = submit(&greeting("a")).await.expect(200);
    assert_eq!(again["request_id"], first["request_id"]);
    submit(&greeting("b")).await.refused(409, "OTHER_BODY");
    // Another key is new work, even with the same content; so is the same key of another organisation.
    let other = [("idempotency-key", "order 8")];
    let second = stage
        .post_with(&stage.writer, SUBMIT, &greeting("a"), &other)
        .await
        .expect(202);
    assert_ne!(second["request_id"], first["request_id"]);
    let foreign = stage
        .post_with(&stage.foreign, SUBMIT, &greeting("c"), &key)
        .await
        .expect(202);
    assert_ne!(foreign["request_id"], first["request_id"]);
    let long = "x".repeat(300);
    for bad in [" ", &long] {
        let key = [("idempotency-key", bad)];
        let refused = stage
            .post_with(&stage.writer, SUBMIT, &greeting("a"), &key)
            .await;
        assert_eq!(
            refused.problems(),
            [("Idempotency-Key".to_owned(), "INVALID_KEY".to_owned())]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_wrong_is_told_at_once() {
    let stage = Stage::new("rest_problems").await;
    let events = stage.events().await;
    let body = json!({
        "platform_id": "ddh", "platform_refs": {"dataset_id": "1", "resource": "2", "version_id": 1.5},
        "workflow_id": "vector_ingest", "inputs": {"blob_name": "", "table_name": "Bad Name", "colour": "red"},
        "priority": "urgent", "callback_url": "https://169.254.169.254/latest",
        "callbacks": [{"url": "http://[::1]/", "secret": "short"}], "colour": "red",
    });
    let found = stage.post(&stage.writer, SUBMIT, &body).await.problems();
    let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
    for expected in [
        "priority",
        "colour",
        "callback_url",
        "callbacks[0].url",
        "callbacks[0].secret",
        "inputs.colour",
        "inputs.container_name",
        "inputs.blob_name",
        "inputs.table_name",
        "platform_refs.resource_id",
        "platform_refs.resource",
        "platform_refs.version_id",
    ] {
        assert!(
            fields.contains(&expected),
            "{expected} is not in {fields:?}"
        );
    }
    // In the words of whoever sent it.
    let body = json!({
        "dataset_id": "1", "resource_id": "2", "version_id": "3", "data_type": "vector", "container_name": "c",
        "file_name": "f", "processing_options": {"chunk_size": 1, "colour": "red"},
    });
    let found = stage.post(&stage.writer, SUBMIT, &body).await.problems();
    let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(
        fields,
        ["processing_options.colour", "processing_options.chunk_size"]
    );
    let unknown = json!({"platform_id": "nobody", "workflow_id": "nothing_at_all"});
    let found = stage.post(&stage.writer, SUBMIT, &unknown).await.problems();
    let codes: Vec<&str> = found.iter().map(|(_, code)| code.as_str()).collect();
    assert_eq!(codes, ["UNKNOWN_WORKFLOW", "UNKNOWN_PLATFORM"]);
    assert_eq!(stage.events().await, events);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_what_would_happen_and_appends_nothing() {
    let stage = Stage::new("rest_dry").await;
    let events = stage.events().await;
    let mut body = ddh();
    body["webhook_url"] = json!("https://partner.example/hook");
    body["webhook_secret"] = json!("a secret of enough bytes");
    let path = format!("{SUBMIT}?dry_run=true");
    let plan = stage.post(&stage.writer, &path, &body).await.expect(200);
    assert_eq!(
        (&plan["status"], &plan["request_id"]),
        (&json!("dry_run"), &Value::Null)
    );
    let plan = &plan["plan"];
    assert_eq!(plan["workflow_id"], "vector_ingest");
    assert_eq!(plan["asset_exists"], false);
    assert_eq!(
        plan["inputs"]["collection_id"], "vectors",
        "defaults are filled in"
    );
    assert_eq!(stage.events().await, events);
    let given = "select count(*) from dagapp.callback_secrets where name like 'given-%'";
    assert_eq!(stage.rig.count(given).await, 0, "no secret is kept either");
    stage.post(&stage.writer, SUBMIT, &body).await.expect(202);
    assert_eq!(stage.rig.count(given).await, 1);
    let known = stage.post(&stage.writer, &path, &body).await.expect(200);
    assert!(known["request_id"].is_string(), "{known}");
    assert_eq!(known["plan"]["asset_exists"], true);
    let path = format!("{SUBMIT}?dry_run=maybe");
    stage
        .post(&stage.writer, &path, &body)
        .await
        .refused(400, "MALFORMED_QUERY");
    // The secret is nowhere in the log.
    let leaked = "select count(*) from dagapp.events where position('secret of enough' in convert_from(payload, 'UTF8')) > 0";
    assert_eq!(stage.rig.count(leaked).await, 0);
}

/// O-133: the payloads of all sources, as they send them.
#[tokio::test(flavor = "multi_thread")]
async fn payloads_of_every_source_become_requests() {
    let stage = Stage::new("rest_sources").await;
    let arcgis = json!({
        "item_id": "8c2f", "layer_index": 0, "item_type": "Imagery Layer", "container_name": "b", "file_name": "dem.tif",
    });
    let portal = json!({"name": "survey", "data_type": "vector", "container_name": "u", "file_name": "a.geojson"});
    for (path, body, platform, workflow) in [
        (SUBMIT, ddh(), "ddh", "vector_ingest"),
        (SUBMIT, arcgis.clone(), "arcgis", "raster_processing"),
        (
            "/api/platform/arcgis/submit?dry_run=true",
            arcgis,
            "arcgis",
            "raster_processing",
        ),
        (SUBMIT, portal, "strata", "vector_ingest"),
    ] {
        let answer = stage.post(&stage.writer, path, &body).await;
        assert!(answer.status.is_success(), "{}", answer.body);
        let Some(id) = answer.body["request_id"].as_str() else {
            continue;
        };
        let status = stage
            .get(&stage.reader, &format!("/api/platform/status/{id}"))
            .await
            .expect(200);
        assert_eq!(
            (&status["platform_id"], &status["workflow_id"]),
            (&json!(platform), &json!(workflow))
        );
    }
    // Nothing of a payload is in the request but what we made of it.
    let raw = "select count(*) from dagapp.events where convert_from(payload, 'UTF8') ~ 'data_type|item_type|file_name'";
    assert_eq!(stage.rig.count(raw).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_platform_needs_only_its_registration() {
    let stage = Stage::new("rest_geonode").await;
    let body = json!({"platform_refs": {"uuid": "u-1"}, "workflow_id": "hello_world"});
    let path = "/api/platform/geonode/submit";
    let refused = stage.post(&stage.writer, path, &body).await.problems();
    assert_eq!(
        refused,
        [("platform_id".to_owned(), "UNKNOWN_PLATFORM".to_owned())]
    );
    let command = Command::Register {
        platform_id: "geonode".to_owned(),
        name: "GeoNode".to_owned(),
        required_refs: vec!["uuid".to_owned()],
        optional_refs: Vec::new(),
    };
    stage
        .rig
        .writer
        .register_platform(command, "test")
        .await
        .unwrap();
    stage.post(&stage.writer, path, &body).await.expect(202);
    stage.caught_up().await;
    let platforms = stage.get(&stage.reader, "/api/platforms").await.expect(200);
    let ids: Vec<&Value> = platforms["platforms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| &p["platform_id"])
        .collect();
    assert_eq!(ids, ["arcgis", "ddh", "geonode", "strata"]);
    let missing = json!({"platform_refs": {}, "workflow_id": "hello_world"});
    let refused = stage.post(&stage.writer, path, &missing).await.problems();
    assert_eq!(
        refused,
        [("platform_refs.uuid".to_owned(), "INVALID_REF".to_owned())]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_is_a_new_round_once_the_last_one_has_ended() {
    let stage = Stage::new("rest_update").await;
    let mut update = ddh();
    update["operation"] = json!("UPDATE");
    let created = stage.post(&stage.writer, SUBMIT, &ddh()).await.expect(202);
    let first = stage.post(&stage.writer, SUBMIT, &update).await.expect(202);
    assert_ne!(first["request_id"], created["request_id"]);
    let again = stage.post(&stage.writer, SUBMIT, &update).await.expect(200);
    assert_eq!(again["request_id"], first["request_id"], "it is under way");
    let request: domain::id::RequestId = first["request_id"].as_str().unwrap().parse().unwrap();
    let job = domain::id::JobId::of_request(request);
    stage
        .rig
        .writer
        .cancel(job, "not needed", "test")
        .await
        .unwrap();
    stage.caught_up().await;
    let second = stage.post(&stage.writer, SUBMIT, &update).await.expect(202);
    assert_ne!(second["request_id"], first["request_id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_follows_the_latest_one() {
    let stage = Stage::new("rest_chain").await;
    let version = |name: &str, previous: Option<&str>| {
        let mut body = ddh();
        body["version_id"] = json!(name);
        body["previous_version_id"] = json!(previous);
        body
    };
    stage
        .post(&stage.writer, SUBMIT, &version("v2", Some("v1")))
        .await
        .refused(409, "VERSION_CHAIN");
    stage
        .post(&stage.writer, SUBMIT, &version("v1", None))
        .await
        .expect(202);
    stage.caught_up().await;
    stage
        .post(&stage.writer, SUBMIT, &version("v2", Some("v1")))
        .await
        .expect(202);
    stage.caught_up().await;
    stage
        .post(&stage.writer, SUBMIT, &version("v2", Some("v1")))
        .await
        .expect(200);
    let refused = stage
        .post(&stage.writer, SUBMIT, &version("v3", Some("v1")))
        .await;
    let error = refused.refused(409, "VERSION_CHAIN");
    assert!(error["message"].as_str().unwrap().contains("v2"), "{error}");
}
