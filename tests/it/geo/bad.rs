//! Files that are wrong in one way each: the documented class and code, a sentence for people, nothing retried that
//! cannot succeed, nothing left behind.

use serde_json::{Value, json};

use super::stage::Stage;

/// Blob, code.
const RASTERS: &[(&str, &str)] = &[
    ("zero.tif", "empty_file"),
    ("text.tif", "not_recognised"),
    ("html.tif", "not_recognised"),
    ("header.tif", "not_recognised"),
    ("vrt.tif", "not_recognised"),
    ("remote.vrt", "not_recognised"),
    ("truncated.tif", "corrupt_blocks"),
    ("corrupt.tif", "corrupt_blocks"),
    ("no_crs.tif", "no_crs"),
    ("outside.tif", "bounds_outside_crs"),
    ("complex.tif", "complex_pixels"),
    ("huge.tif", "too_large"),
    ("folder.tif", "not_a_file"),
    ("link.tif", "bad_path"),
    ("nobody.tif", "not_found"),
    ("../secret.tif", "bad_path"),
    ("a/../../b.tif", "bad_path"),
    ("a//b.tif", "bad_path"),
    ("good.geojson", "not_recognised"),
];

const LAYERS: &[(&str, &str)] = &[
    ("zero.geojson", "empty_file"),
    ("text.gpkg", "not_recognised"),
    ("broken.geojson", "not_recognised"),
    ("empty.geojson", "empty_layer"),
    ("null.geojson", "no_geometry"),
    ("columns.geojson", "too_many_columns"),
    ("slip.zip", "unsafe_zip"),
    ("bomb.zip", "zip_too_large"),
    ("none.zip", "no_layers"),
    ("far.geojson", "bounds_outside_crs"),
    ("dem.tif", "not_recognised"),
    ("nobody.gpkg", "not_found"),
    ("link.tif", "bad_path"),
];

#[tokio::test]
async fn whatever_cannot_be_read_is_refused_once_with_its_code() {
    let stage = Stage::new("geo_bad").await;
    stage.make_files();
    let _worker = stage.worker();
    let mut wrong = Vec::new();
    for (workflow, files) in [("process_raster_v2", RASTERS), ("vector_ingest", LAYERS)] {
        let mut jobs = Vec::new();
        for (blob, _) in files {
            let mut inputs = json!({"container_name": "uploads", "blob_name": blob});
            if workflow == "vector_ingest" {
                inputs["table_name"] = json!("refused");
            }
            jobs.push(stage.rig.submit(workflow, inputs).await);
        }
        for ((blob, code), job) in files.iter().zip(&jobs) {
            match stage.ended(job).await {
                Ok(_) => wrong.push(format!("{blob}: was accepted")),
                Err(failure) => wrong.extend(complaint(&failure, blob, code)),
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(
        stage.rig.events("node_retry_scheduled").await,
        0,
        "nothing is tried twice"
    );
    stage.nothing_is_left();
}

/// What is wrong with the failure of a file.
fn complaint(failure: &Value, blob: &str, code: &str) -> Option<String> {
    let text = failure.to_string();
    let cause = text.contains(&format!("\"{code}\"")) || text.contains(code);
    let leaks = text.contains("system-geo");
    (!cause || leaks).then(|| format!("{blob}: expected {code}, got {text}"))
}
