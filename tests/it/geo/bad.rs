//! Files that are wrong in one way each: the documented class and code, a sentence that helps, nothing tried again that
//! cannot succeed, nothing left behind.

use std::path::Path;

use commands::submit::Submitted;
use serde_json::{Value, json};

use super::judges::files_below;
use super::stage::Stage;

/// What is asked for, the code of the answer, and words of its message.
struct Bad {
    blob: &'static str,
    /// Further inputs.
    inputs: &'static [(&'static str, &'static str)],
    code: &'static str,
    says: &'static str,
}

const fn bad(blob: &'static str, code: &'static str, says: &'static str) -> Bad {
    with(blob, &[], code, says)
}

const fn with(
    blob: &'static str,
    inputs: &'static [(&'static str, &'static str)],
    code: &'static str,
    says: &'static str,
) -> Bad {
    Bad {
        blob,
        inputs,
        code,
        says,
    }
}

const RASTERS: &[Bad] = &[
    bad("zero.tif", "empty_file", "upload was probably cut off"),
    bad(
        "text.tif",
        "not_recognised",
        "not a raster of a known format",
    ),
    bad("html.tif", "not_recognised", "GTiff"),
    bad(
        "header.tif",
        "not_recognised",
        "not a raster of a known format",
    ),
    bad(
        "vrt.tif",
        "not_recognised",
        "not a raster of a known format",
    ),
    bad(
        "remote.vrt",
        "not_recognised",
        "not a raster of a known format",
    ),
    bad(
        "good.geojson",
        "not_recognised",
        "not a raster of a known format",
    ),
    bad("truncated.tif", "corrupt_blocks", "damaged or cut off"),
    bad("corrupt.tif", "corrupt_blocks", "damaged or cut off"),
    bad("unwritten.tif", "corrupt_blocks", "interrupted"),
    bad("no_crs.tif", "no_crs", "input_crs"),
    bad("plain.png", "no_crs", "input_crs"),
    with(
        "no_crs.tif",
        &[("input_crs", "EPSG:99999999")],
        "bad_crs",
        "such as EPSG:32633",
    ),
    with(
        "no_crs.tif",
        &[("input_crs", "/etc/passwd")],
        "bad_crs",
        "such as EPSG:32633",
    ),
    with(
        "dem.tif",
        &[("target_crs", "EPSG:99999999")],
        "bad_crs",
        "such as EPSG:32633",
    ),
    with(
        "dem.tif",
        &[("raster_type", "rgb")],
        "wrong_raster_type",
        "3 bands",
    ),
    bad("no_place.tif", "no_georeference", "where on Earth"),
    bad("gcps.tif", "no_georeference", "gdalwarp"),
    bad("outside.tif", "bounds_outside_crs", "CRS"),
    bad("far.tif", "bounds_outside_crs", "CRS"),
    bad("complex.tif", "complex_pixels", "amplitude or phase"),
    bad("huge.tif", "too_large", "720000000000 bytes"),
    bad("folder.tif", "not_a_file", "is not a file"),
    bad("pipe.tif", "not_a_file", "is not a file"),
    bad("link.tif", "bad_path", "link"),
    bad("linked/dem.tif", "bad_path", "link"),
    bad("loop.tif", "unreadable", "cannot be read"),
    bad("nobody.tif", "not_found", "bronze://uploads/nobody.tif"),
    bad(
        "dem.tif/inside.tif",
        "not_found",
        "bronze://uploads/dem.tif/inside.tif",
    ),
    bad("../secret.tif", "bad_path", "without `..`"),
    bad("a/../../b.tif", "bad_path", "without `..`"),
    bad("a//b.tif", "bad_path", "single slashes"),
    bad("/etc/hostname", "bad_path", "does not begin with a slash"),
    bad("a\\..\\b.tif", "bad_path", "control characters"),
];

const LAYERS: &[Bad] = &[
    bad("zero.geojson", "empty_file", "upload was probably cut off"),
    bad("text.gpkg", "not_recognised", "GPKG"),
    bad(
        "dem.tif",
        "not_recognised",
        "cannot be opened as vector data",
    ),
    bad(
        "vrt.geojson",
        "not_recognised",
        "cannot be opened as vector data",
    ),
    bad(
        "wide.geojson",
        "not_recognised",
        "cannot be opened as vector data",
    ),
    bad(
        "cut.geojson",
        "not_recognised",
        "cannot be opened as vector data",
    ),
    bad("cut.gpkg", "not_recognised", "malformed"),
    bad("cut.fgb", "corrupt_features", "900 features"),
    bad("cut.shp", "corrupt_features", "cannot be read to its end"),
    bad("no_shx.shp", "not_recognised", "no_shx.shx"),
    bad("no_prj.shp", "no_crs", "input_crs"),
    bad("unknown.gpkg", "no_crs", "input_crs"),
    with(
        "no_prj.shp",
        &[("input_crs", "EPSG:99999999")],
        "bad_crs",
        "such as EPSG:32633",
    ),
    bad("empty.geojson", "empty_layer", "has no features"),
    bad("null.geojson", "no_geometry", "has no geometries"),
    bad("table.csv", "no_geometry", "lon and lat"),
    bad("nowhere.gpkg", "no_geometry", "geometr"),
    bad("beyond.gpkg", "no_geometry", "geometr"),
    bad("far.geojson", "bounds_outside_crs", "input_crs"),
    bad("columns.geojson", "too_many_columns", "10000 columns"),
    bad("several.gpkg", "several_layers", "`one`, `other`"),
    with(
        "several.gpkg",
        &[("layer", "third")],
        "layer_not_found",
        "`one`, `other`",
    ),
    with(
        "good.geojson",
        &[("layer", "x\"; drop table y")],
        "layer_not_found",
        "`good`",
    ),
    bad("slip.zip", "unsafe_zip", "leads out of the archive"),
    bad("linked.zip", "unsafe_zip", "is a link"),
    bad("locked.zip", "zip_encrypted", "without a password"),
    bad("bomb.zip", "zip_too_large", "times its size"),
    bad("cut.zip", "bad_zip", "damaged zip archive"),
    bad("none.zip", "no_layers", "Shapefile, GeoPackage"),
    bad("nested.zip", "no_layers", "Shapefile, GeoPackage"),
    bad("two.zip", "several_layers", "`a`, `b`"),
    bad("link.tif", "bad_path", "link"),
    bad("nobody.gpkg", "not_found", "bronze://uploads/nobody.gpkg"),
    with(
        "good.geojson",
        &[("table_name", "taken")],
        "table_differs",
        "taken",
    ),
];

#[tokio::test]
async fn whatever_cannot_be_read_is_refused_once_with_its_code() {
    let stage = Stage::new("geo_bad").await;
    stage.make("make_rasters.py");
    stage.make("make_layers.py");
    // Of somebody else.
    sqlx::query("create table geo.taken (id integer)")
        .execute(&stage.rig.pool)
        .await
        .unwrap();
    let before = seen(&stage.uploads());
    let _worker = stage.worker();
    let mut rasters: Vec<&Bad> = RASTERS.iter().collect();
    let locked = bad("locked.tif", "unreadable", "may not be read");
    if !rustix::process::geteuid().is_root() {
        // Root may read everything.
        rasters.push(&locked);
    }
    let mut wrong = Vec::new();
    for (workflow, files) in [
        ("process_raster_v2", rasters),
        ("vector_ingest", LAYERS.iter().collect()),
    ] {
        let mut jobs = Vec::new();
        for (number, bad) in files.iter().enumerate() {
            let inputs = inputs(workflow, bad, number);
            jobs.push(stage.rig.submit(workflow, inputs).await);
        }
        for (bad, job) in files.iter().zip(&jobs) {
            wrong.extend(complaint(&stage, bad, job).await);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    stage.nothing_is_left().await;
    assert_eq!(seen(&stage.uploads()), before, "sources stay as they were");
    assert_eq!(
        files_below(&stage.silver()),
        Vec::<std::path::PathBuf>::new()
    );
    assert_eq!(stage.items().await, Vec::<Value>::new());
}

fn inputs(workflow: &str, bad: &Bad, number: usize) -> Value {
    let mut inputs = json!({"container_name": "uploads", "blob_name": bad.blob});
    if workflow == "vector_ingest" {
        inputs["table_name"] = json!(format!("refused_{number}"));
    }
    for (name, value) in bad.inputs {
        inputs[name] = json!(value);
    }
    inputs
}

/// What is wrong with the answer to a file.
async fn complaint(stage: &Stage, bad: &Bad, job: &Submitted) -> Option<String> {
    let blob = bad.blob;
    let Err(of_job) = stage.ended(job).await else {
        return Some(format!("{blob}: was accepted"));
    };
    let failed = stage.told(job.job_id, "node_failed").await;
    let [failed] = failed.as_slice() else {
        return Some(format!("{blob}: failed {} times: {of_job}", failed.len()));
    };
    let failure = &failed["failure"];
    let message = failure["message"].as_str().unwrap_or_default();
    let folder = stage.rig.dir.to_str().unwrap();
    let checks = [
        ("code", failure["code"] == bad.code),
        ("class", failure["class"] == "permanent"),
        ("message", message.contains(bad.says)),
        ("a path of the worker", !message.contains(folder)),
        (
            "more than one try",
            failed["attempt"] == 1 && failed["retry_at"].is_null(),
        ),
        (
            "the failure of the job",
            of_job.to_string().contains(bad.code),
        ),
    ];
    let wrong: Vec<&str> = checks
        .iter()
        .filter(|(_, holds)| !holds)
        .map(|(what, _)| *what)
        .collect();
    let expected = (bad.code, bad.says);
    (!wrong.is_empty()).then(|| format!("{blob}: {wrong:?} wrong, expected {expected:?}: {failed}"))
}

/// Names and sizes, without opening anything.
fn seen(folder: &Path) -> Vec<(String, u64)> {
    let size = |path: &Path| path.symlink_metadata().map_or(0, |meta| meta.len());
    let files = files_below(folder).into_iter();
    files
        .map(|path| (path.display().to_string(), size(&path)))
        .collect()
}

#[tokio::test]
async fn a_table_cannot_be_named_by_sql() {
    let stage = Stage::new("geo_sql").await;
    let long = "x".repeat(64);
    for table in [
        "x; drop table events",
        "x\" (id int); --",
        "dagapp.events",
        "Roads",
        "1road",
        "",
        &long,
    ] {
        let inputs =
            json!({"container_name": "uploads", "blob_name": "good.geojson", "table_name": table});
        let refused = stage.rig.try_submit("vector_ingest", inputs).await;
        let Err(refused) = refused else {
            panic!("`{table}` was accepted");
        };
        assert!(refused.to_string().contains("table_name"), "{refused}");
    }
}
