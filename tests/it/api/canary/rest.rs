//! Canaries through every operation of the REST document: once where people put them, and once in every field.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::doors::Doors;
use super::{PERSON, SECRET};

/// Every operation with a body: its path, canaries where people put them, and the status of its answer.
const ROWS: &[(&str, &str, &str, u16)] = &[
    (
        "submit",
        "/api/platform/submit",
        r#"{"platform_id": "strata", "platform_refs": {"name": "CONTENT r"}, "workflow_id": "one", "title": "CONTENT",
            "inputs": {"message": "CONTENT"}, "webhook_url": "https://example.org/CONTENT", "webhook_secret": "SECRET"}"#,
        202,
    ),
    (
        "submit",
        "/api/platform/submit",
        r#"{"platform_id": "strata", "workflow_id": "one", "inputs": {}, "submitted_by": "PERSON"}"#,
        422,
    ),
    (
        "submit",
        "/api/platform/submit",
        r#"{"webhook_secret": "SECRET", "webhook_url": "http://SECRET:SECRET@127.0.0.1/"}"#,
        422,
    ),
    (
        "submit_for",
        "/api/platform/strata/submit",
        r#"{"platform_refs": {"name": "CONTENT s"}, "workflow_id": "quotes", "title": "CONTENT", "inputs": {"why": "CONTENT"},
            "callbacks": [{"url": "https://example.org/CONTENT", "secret": "SECRET"}]}"#,
        202,
    ),
    (
        "submit_job",
        "/api/jobs/submit/one",
        r#"{"message": "CONTENT"}"#,
        202,
    ),
    (
        "submit_job",
        "/api/jobs/submit/one",
        r#"{"message": {"of": "PERSON"}}"#,
        422,
    ),
    (
        "resubmit",
        "/api/platform/resubmit",
        r#"{"request_id": "REQUEST", "force": true}"#,
        202,
    ),
    (
        "approve",
        "/api/platform/approve",
        r#"{"asset_id": "ASSET_C"}"#,
        200,
    ),
    (
        "revoke",
        "/api/platform/revoke",
        r#"{"asset_id": "ASSET_C", "reason": "CONTENT"}"#,
        200,
    ),
    (
        "reject",
        "/api/platform/reject",
        r#"{"asset_id": "ASSET_D", "reason": "CONTENT"}"#,
        200,
    ),
    (
        "unpublish",
        "/api/platform/unpublish",
        r#"{"asset_id": "ASSET_D"}"#,
        200,
    ),
    (
        "lookup_exactly",
        "/api/platform/catalog/lookup",
        r#"{"platform_id": "strata", "platform_refs": {"name": "PERSON"}}"#,
        200,
    ),
];

pub(super) async fn through_every_operation(doors: &Doors<'_>) {
    let document = api::rest::openapi();
    for (operation, path, body, expected) in ROWS {
        let body = serde_json::from_str(&doors.filled(body)).unwrap();
        let (status, answer) = doors.send("POST", path, Some(body)).await;
        assert_eq!(status, *expected, "{operation}: {answer}");
        assert!(
            !answer.contains(SECRET),
            "{operation} answers with a secret: {answer}"
        );
    }
    let bodies = bodies(&document);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let url = address(path, operation);
            if operation.get("requestBody").is_none() {
                doors.send(&method.to_uppercase(), &url, None).await;
                continue;
            }
            let id = operation["operationId"].as_str().unwrap();
            assert!(
                ROWS.iter().any(|row| row.0 == id),
                "`{id}` has no row: which canaries can it take?"
            );
            for body in bodies.values() {
                let (status, answer) = doors
                    .send(&method.to_uppercase(), &url, Some(body.clone()))
                    .await;
                assert!(
                    (400..500).contains(&status),
                    "{method} {path}: {status}: {answer}"
                );
            }
        }
    }
}

/// A person in each part of the path and in each parameter of the query.
fn address(path: &str, operation: &Value) -> String {
    let mut url = String::new();
    for part in path.split('/').skip(1) {
        url.push('/');
        url.push_str(if part.starts_with('{') { PERSON } else { part });
    }
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let names = parameters.filter(|p| p["in"] == "query");
    let query: Vec<_> = names
        .map(|p| format!("{}={PERSON}", p["name"].as_str().unwrap()))
        .collect();
    if query.is_empty() {
        url
    } else {
        format!("{url}?{}", query.join("&"))
    }
}

/// Each body that the document describes, with a person in each field and in one more.
fn bodies(document: &Value) -> BTreeMap<String, Value> {
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let all = schemas
        .iter()
        .filter(|(name, _)| name.ends_with("Body") || name.ends_with("BodyOfPath"));
    let filled = all.map(|(name, schema)| {
        let properties = schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let mut body: Map<_, _> = properties
            .keys()
            .map(|key| (key.clone(), json!(PERSON)))
            .collect();
        body.insert(
            "submitted_by".to_owned(),
            json!({"name": PERSON, PERSON: 1}),
        );
        (name.clone(), Value::Object(body))
    });
    let filled: BTreeMap<_, _> = filled.collect();
    assert!(filled.len() >= 9, "{:?}", filled.keys());
    filled
}
