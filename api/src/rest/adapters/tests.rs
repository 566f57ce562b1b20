//! Payloads of every source, as they come, and what becomes of them (O-133).

use serde_json::{Value, json};

use super::*;

fn read(platform: Option<&str>, body: Value) -> (Work, Vec<Problem>) {
    adapt(platform, body.as_object().cloned().unwrap())
}

#[track_caller]
fn good(body: Value) -> Work {
    let (work, problems) = read(None, body);
    assert_eq!(problems, vec![]);
    work
}

#[track_caller]
fn bad(body: Value, expected: &[(&str, &str)]) {
    let (_, problems) = read(None, body);
    let of: Vec<(&str, &str)> = problems.iter().map(|p| (&*p.field, &*p.code)).collect();
    assert_eq!(of, expected);
}

fn ddh() -> Value {
    json!({
        "dataset_id": "0038272", "resource_id": "shapefile", "version_id": "Version Purple!!", "data_type": "vector",
        "container_name": "bronze", "file_name": "roads.gpkg", "title": "Roads", "tags": ["roads"],
        "access_level": "PUBLIC", "processing_options": {"chunk_size": 5000},
    })
}

fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

#[test]
fn a_vector_layer_of_ddh_is_ingested() {
    let work = good(ddh());
    assert_eq!(
        (&*work.platform_id, &*work.workflow_id),
        ("ddh", "vector_ingest")
    );
    let refs = json!({"dataset_id": "0038272", "resource_id": "shapefile", "version_id": "Version Purple!!"});
    assert_eq!(Value::Object(work.refs), refs);
    let table = work.inputs["table_name"].as_str().unwrap().to_owned();
    let inputs = json!({
        "container_name": "bronze", "blob_name": "roads.gpkg", "title": "Roads", "tags": ["roads"],
        "access_level": "public", "chunk_size": 5000, "table_name": table, "dataset_id": "0038272",
        "resource_id": "shapefile", "version_id": "Version Purple!!",
    });
    assert_eq!(Value::Object(work.inputs), inputs);
    assert_eq!(work.title.as_deref(), Some("Roads"));
    assert!(work.warnings.is_empty() && !work.anew);
}

#[test]
fn a_raster_of_ddh_is_processed_and_what_has_no_effect_is_told() {
    let body = with(
        with(ddh(), "data_type", json!("raster")),
        "file_name",
        json!(["dem.tif"]),
    );
    let body = with(
        with(body, "client_id", json!("c")),
        "processing_options",
        json!({"target_crs": "EPSG:4326"}),
    );
    let work = good(body);
    assert_eq!(work.workflow_id, "raster_processing");
    let inputs = json!({
        "container_name": "bronze", "blob_name": "dem.tif", "target_crs": "EPSG:4326", "title": "Roads",
        "tags": ["roads"], "access_level": "public", "dataset_id": "0038272", "resource_id": "shapefile",
        "version_id": "Version Purple!!",
    });
    assert_eq!(Value::Object(work.inputs), inputs);
    let told: Vec<&str> = work.warnings.iter().map(String::as_str).collect();
    assert_eq!(told, ["`client_id` has no effect: the key says who asks"]);
}

#[test]
fn an_update_or_an_overwrite_asks_anew_and_a_predecessor_is_kept() {
    assert!(good(with(ddh(), "operation", json!("UPDATE"))).anew);
    assert!(
        good(with(
            ddh(),
            "processing_options",
            json!({"overwrite": true})
        ))
        .anew
    );
    assert!(!good(with(ddh(), "operation", json!("CREATE"))).anew);
    let work = good(with(ddh(), "previous_version_id", json!("v0")));
    let previous = work.previous.unwrap();
    assert_eq!(
        Value::Object(previous.series),
        json!({"dataset_id": "0038272", "resource_id": "shapefile"})
    );
    assert_eq!((previous.name, previous.value), ("version_id", json!("v0")));
}

#[test]
fn everything_that_is_wrong_with_a_payload_of_ddh_is_told() {
    bad(
        json!({
            "dataset_id": 1.5, "resource_id": "r", "data_type": "cube", "operation": "DROP", "file_name": ["a", "b"],
            "access_level": "SECRET", "source_url": "https://x", "colour": "red", "priority": 999,
        }),
        &[
            ("dataset_id", "WRONG_TYPE"),
            ("version_id", "MISSING"),
            ("data_type", "NOT_A_CHOICE"),
            ("operation", "NOT_A_CHOICE"),
            ("access_level", "NOT_A_CHOICE"),
            ("source_url", "NOT_SUPPORTED"),
            ("container_name", "MISSING"),
            ("file_name", "NOT_SUPPORTED"),
            ("priority", "NOT_A_CHOICE"),
            ("colour", "UNKNOWN_FIELD"),
        ],
    );
    bad(
        with(ddh(), "data_type", json!("zarr")),
        &[("data_type", "NOT_SUPPORTED")],
    );
}

#[test]
fn a_layer_of_arcgis_is_told_by_its_words() {
    let body = json!({
        "item_id": "8c2f", "layer_index": 0, "item_type": "Feature Layer", "access": "org",
        "container_name": "bronze", "file_name": "parcels.gpkg", "priority": 2,
    });
    let work = good(body.clone());
    assert_eq!(
        (&*work.platform_id, &*work.workflow_id),
        ("arcgis", "vector_ingest")
    );
    assert_eq!(
        Value::Object(work.refs),
        json!({"item_id": "8c2f", "layer_index": 0})
    );
    assert_eq!(work.inputs["access_level"], "ouo");
    assert!(
        !work.inputs.contains_key("item_id"),
        "nothing of theirs is an input"
    );
    assert_eq!(work.priority, Some(Priority::High));
    let work = good(with(body, "item_type", json!("Imagery Layer")));
    assert_eq!(work.workflow_id, "raster_processing");
}

#[test]
fn a_file_of_a_portal_is_published_under_its_name() {
    let work = good(json!({
        "name": "my-survey", "data_type": "vector", "container_name": "uploads", "file_name": "a.geojson",
        "visibility": "internal",
    }));
    assert_eq!(
        (&*work.platform_id, &*work.workflow_id),
        ("strata", "vector_ingest")
    );
    assert_eq!(Value::Object(work.refs), json!({"name": "my-survey"}));
    assert_eq!(work.inputs["access_level"], "ouo");
}

#[test]
fn any_platform_may_speak_our_words() {
    let body = json!({"platform_refs": {"uuid": "u-1"}, "workflow_id": "echo", "inputs": {"message": "m"}});
    let (work, problems) = read(Some("geonode"), body.clone());
    assert_eq!(problems, vec![]);
    assert_eq!(
        (&*work.platform_id, &*work.workflow_id),
        ("geonode", "echo")
    );
    bad(body.clone(), &[("platform_id", "MISSING")]);
    let (_, problems) = read(Some("geonode"), with(body, "platform_id", json!("ddh")));
    assert_eq!(problems[0].field, "platform_id");
}

#[test]
fn the_content_is_the_key_and_our_names_become_theirs() {
    let (one, two) = (
        good(ddh()),
        good(with(ddh(), "file_name", json!("other.gpkg"))),
    );
    assert_eq!(one.content_key(0), good(ddh()).content_key(0));
    assert_ne!(one.content_key(0), one.content_key(1));
    assert_ne!(one.content_key(0), two.content_key(0));
    let again = good(with(ddh(), "callback_url", json!("https://a.example/")));
    assert_eq!(one.content_key(0), again.content_key(0));
    for (ours, theirs) in [
        ("inputs.blob_name", "file_name"),
        ("inputs.chunk_size", "processing_options.chunk_size"),
        ("platform_refs.dataset_id", "dataset_id"),
        ("workflow_id", "data_type"),
        ("callbacks[0]", "callbacks[0]"),
    ] {
        assert_eq!(one.name_of(ours), theirs);
    }
}

/// Every property of a schema is a field that is read, and every field that is read stands in a schema.
#[test]
fn the_schemas_of_bodies_say_what_is_read() {
    let document = crate::rest::openapi();
    for (schema, platform) in [
        ("SubmitBody", "geonode"),
        ("DdhBody", "ddh"),
        ("ArcgisBody", "arcgis"),
        ("PortalBody", "strata"),
    ] {
        let properties = document["components"]["schemas"][schema]["properties"]
            .as_object()
            .unwrap();
        // A value that nobody takes: whoever reads the field complains of it, and not of its name.
        let odd: Map<String, Value> = properties
            .keys()
            .map(|name| (name.clone(), json!([[]])))
            .collect();
        let (_, problems) = adapt(Some(platform), odd);
        for problem in &problems {
            assert_ne!(
                problem.code, "UNKNOWN_FIELD",
                "{schema}: {} is never read",
                problem.field
            );
        }
        let complained = |name: &str| problems.iter().any(|p| p.field.starts_with(name));
        for name in properties.keys() {
            assert!(complained(name), "{schema}: {name} takes anything");
        }
    }
}
