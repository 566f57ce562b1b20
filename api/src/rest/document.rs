//! The `OpenAPI` document: what the handlers say of themselves, completed by what all of them have in common.
//!
//! Bodies are read field by field so that all problems are told at once; their schemas and examples stand in
//! `bodies.json`, and a test holds the two together.

use serde_json::{Map, Value, json};
use utoipa::OpenApi as _;

use crate::error::ErrorBody;

/// Schemas of bodies, and per operation which it takes, with examples.
const BODIES: &str = include_str!("bodies.json");

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Strata platform API",
        description = "Submit work, follow it, review what it made. Each request carries a key, as \
            `Authorization: Bearer KEY` or as `X-Api-Key: KEY`; it sees its own organisation and nothing else. Every \
            error has the same form. `/platform/submit`, `/platform/submit_dag`, `/platform/status/{id}` and \
            `/platform/dag_status/{id}` are other names of `/api/platform/submit` and `/api/platform/status/{id}`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    components(schemas(ErrorBody)),
    tags(
        (name = "platform", description = "For partners: submit and follow work."),
        (name = "review", description = "Approve, reject, revoke, unpublish."),
        (name = "catalog", description = "Assets by refs and by id."),
        (name = "jobs", description = "Jobs by type and parameters."),
        (name = "health", description = "Whether it works; needs no key."),
    ),
)]
struct Base;

/// What stands above the routes.
pub(super) fn base() -> utoipa::openapi::OpenApi {
    Base::openapi()
}

/// The whole document; objects are sorted by key, so it is the same text every time.
#[must_use]
pub fn openapi() -> Value {
    let (_, document) = super::router().split_for_parts();
    let mut document = serde_json::to_value(document).unwrap_or_default();
    let bodies: Value = serde_json::from_str(BODIES).unwrap_or_default();
    if let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) {
        for (path, item) in paths {
            for (method, operation) in item.as_object_mut().into_iter().flatten() {
                complete(path, method, operation, &bodies);
            }
        }
    }
    let schemas = bodies.get("schemas").and_then(Value::as_object);
    if let Some(all) = document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut)
    {
        all.extend(schemas.cloned().unwrap_or_default());
    }
    if let Some(components) = document
        .get_mut("components")
        .and_then(Value::as_object_mut)
    {
        components.insert("securitySchemes".to_owned(), security_schemes());
    }
    document
}

fn security_schemes() -> Value {
    json!({
        "bearer": {"type": "http", "scheme": "bearer"},
        "api_key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    })
}

/// Adds body, security and errors to one operation.
fn complete(path: &str, method: &str, operation: &mut Value, bodies: &Value) {
    let text = |operation: &Value, name: &str| {
        operation
            .get(name)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let id = text(operation, "operationId").unwrap_or_default();
    let needs_key = text(operation, "x-strata-role").as_deref() != Some("none");
    let has_body = method == "post";
    let Some(operation) = operation.as_object_mut() else {
        return;
    };
    if has_body {
        let of_operation = bodies.pointer(&format!("/operations/{id}"));
        let content = of_operation.cloned().unwrap_or_default();
        let body = json!({"required": true, "content": {"application/json": content}});
        operation.insert("requestBody".to_owned(), body);
    }
    let extra = bodies
        .pointer(&format!("/parameters/{id}"))
        .and_then(Value::as_array);
    if let (Some(extra), Some(given)) = (
        extra,
        operation
            .get_mut("parameters")
            .and_then(Value::as_array_mut),
    ) {
        given.extend(extra.iter().cloned());
    }
    let security = if needs_key {
        json!([{"bearer": []}, {"api_key": []}])
    } else {
        json!([])
    };
    operation.insert("security".to_owned(), security);
    let takes_arguments = path.contains('{') || operation.contains_key("parameters");
    if let Some(responses) = operation
        .get_mut("responses")
        .and_then(Value::as_object_mut)
    {
        errors(responses, needs_key, has_body, takes_arguments);
    }
}

/// The errors that an operation may answer.
fn errors(
    responses: &mut Map<String, Value>,
    needs_key: bool,
    has_body: bool,
    takes_arguments: bool,
) {
    let table = [
        ("400", "It cannot be read.", has_body || takes_arguments),
        ("401", "A valid key is needed.", needs_key),
        ("403", "The role of the key is not enough.", needs_key),
        (
            "404",
            "It does not exist, or belongs to another organisation.",
            needs_key,
        ),
        ("409", "It does not fit to how things are.", needs_key),
        ("413", "The body is too large.", has_body),
        ("415", "The body is not JSON.", has_body),
        (
            "422",
            "It is not possible; `problems` lists everything that is wrong.",
            has_body || takes_arguments,
        ),
        ("429", "This key asks too often.", needs_key),
        ("503", "A part of the platform does not answer.", true),
    ];
    for (code, description, applies) in table {
        if applies {
            let schema = json!({"$ref": "#/components/schemas/ErrorBody"});
            let content = json!({"application/json": {"schema": schema}});
            responses.insert(
                code.to_owned(),
                json!({"description": description, "content": content}),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_complete() {
        let document = openapi();
        assert_eq!(document["openapi"], "3.1.0");
        let mut count = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let name = format!("{method} {path}");
                count += 1;
                assert!(operation["summary"].is_string(), "{name}");
                let role = operation["x-strata-role"].as_str().unwrap();
                assert!(
                    ["none", "reader", "writer", "admin"].contains(&role),
                    "{name}"
                );
                if method == "post" {
                    let content = &operation["requestBody"]["content"]["application/json"];
                    assert!(content["schema"].is_object(), "{name} has no schema");
                    assert!(content["examples"].is_object(), "{name} has no example");
                }
                assert!(operation["responses"]["503"].is_object(), "{name}");
            }
        }
        assert_eq!(count, 18);
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn walk(value: &Value, document: &Value) {
            if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                let pointer = target.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{target}");
            }
            match value {
                Value::Array(items) => items.iter().for_each(|item| walk(item, document)),
                Value::Object(map) => map.values().for_each(|item| walk(item, document)),
                _ => {}
            }
        }
        let document = openapi();
        walk(&document, &document);
    }
}
