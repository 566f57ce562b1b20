//! Data that is odd and good: it is taken, and nothing of it is lost that can be kept.

use serde_json::{Value, json};
use sqlx::{PgPool, Row as _};

use super::judges::is_faithful;
use super::pipeline::valid_stac;
use super::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn odd_rasters_become_faithful_cogs() {
    let stage = Stage::new("geo_odd_rasters").await;
    let folder = stage.make("make_rasters.py");
    let _worker = stage.worker();
    let names = [
        "nan", "bit", "palette", "rgb", "wide", "rotated", "dateline",
    ];
    let mut items = Vec::new();
    for name in names {
        let blob = format!("{name}.tif");
        let inputs = json!({"container_name": "uploads", "blob_name": blob, "item_id": name});
        let submitted = stage.rig.submit("process_raster_v2", inputs).await;
        let result = stage.ended(&submitted).await.unwrap();
        is_faithful(&stage.artifact(&result), &folder.join(&blob));
        let all = stage.items().await;
        let item = all.into_iter().find(|item| item["id"] == name).unwrap();
        let completed = stage.told(submitted.job_id, "node_completed").await;
        let validated = completed.iter().find(|node| node["node"] == "validate");
        items.push((validated.unwrap()["output"].clone(), item));
    }
    let [nan, bit, palette, rgb, _, rotated, dateline] = items.try_into().unwrap();
    assert_eq!(nan.1["assets"]["data"]["bands"][0]["nodata"], "nan");
    let of = |(_, item): &(Value, Value)| item["properties"]["strata:raster_type"].clone();
    assert_eq!(
        (of(&bit), of(&palette), of(&rgb)),
        (json!("categorical"), json!("categorical"), json!("rgb"))
    );
    let warnings = rotated.0["warnings"].to_string();
    assert!(warnings.contains("rotated or sheared"), "{warnings}");
    // Across 180 degrees the west is greater than the east, and the shape has two parts.
    let bbox: Vec<f64> = serde_json::from_value(dateline.1["bbox"].clone()).unwrap();
    assert!(bbox[0] > bbox[2], "{bbox:?}");
    assert_eq!(dateline.1["geometry"]["type"], "MultiPolygon");
    valid_stac(&stage).await;
    stage.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raster_that_is_silent_about_its_place_is_taken_with_a_given_crs() {
    let stage = Stage::new("geo_given_crs").await;
    stage.make("make_rasters.py");
    let _worker = stage.worker();
    let inputs =
        json!({"container_name": "uploads", "blob_name": "no_crs.tif", "input_crs": "EPSG:4326"});
    let result = stage.run("process_raster_v2", inputs).await;
    let item = stage.items().await.remove(0);
    assert_eq!(item["id"], result["item_id"]);
    assert_eq!(item["properties"]["proj:code"], "EPSG:4326");
    assert_eq!(item["bbox"], json!([10.0, 45.0, 11.0, 46.0]));
}

/// What became of a layer.
struct Loaded {
    rows: Vec<Value>,
    result: Value,
    validated: Value,
    loaded: Value,
}

async fn load(stage: &Stage, catalog: &PgPool, blob: &str, crs: &str) -> Loaded {
    let table = blob.replace('.', "_");
    let inputs = json!({
        "container_name": "uploads", "blob_name": blob, "table_name": table, "input_crs": crs,
    });
    let submitted = stage.rig.submit("vector_ingest", inputs).await;
    let result = stage
        .ended(&submitted)
        .await
        .unwrap_or_else(|failure| panic!("{blob}: {failure}"));
    let completed = stage.told(submitted.job_id, "node_completed").await;
    let output = |name: &str| {
        let node = completed.iter().find(|node| node["node"] == name);
        node.unwrap()["output"].clone()
    };
    // A name of our own making.
    let select = format!(
        "select to_jsonb(t) - 'geom' || jsonb_build_object('shape', ST_AsText(geom), 'valid', ST_IsValid(geom)) as row
         from geo.{table} t order by fid"
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(select))
        .fetch_all(catalog)
        .await
        .unwrap();
    Loaded {
        rows: rows.iter().map(|row| row.get("row")).collect(),
        result,
        validated: output("validate"),
        loaded: output("load"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_layers_are_loaded_with_what_can_be_kept() {
    let stage = Stage::new("geo_odd_layers").await;
    stage.make("make_layers.py");
    let _worker = stage.worker();
    let catalog = PgPool::connect(&stage.catalog_url).await.unwrap();
    let load = async |blob: &str, crs: &str| load(&stage, &catalog, blob, crs).await;

    let bow = load("bow_tie.geojson", "").await;
    assert_eq!(bow.loaded["rows_repaired"], 1, "{}", bow.loaded);
    assert!(
        bow.rows.len() == 2 && bow.rows.iter().all(|row| row["valid"] == true),
        "{:?}",
        bow.rows
    );
    assert_eq!(bow.validated["invalid_geometries"], 1);

    let mixed = load("mixed.geojson", "").await;
    let shape = |row: &Value| {
        row["shape"]
            .as_str()
            .unwrap()
            .split('(')
            .next()
            .unwrap()
            .to_owned()
    };
    let shapes: Vec<String> = mixed.rows.iter().map(shape).collect();
    assert_eq!(shapes, ["POINT", "POLYGON", "LINESTRING"]);
    assert!(
        mixed.validated["warnings"]
            .to_string()
            .contains("mixed types")
    );

    let names = load("names.geojson", "").await;
    let columns: Vec<&String> = names.rows[0].as_object().unwrap().keys().collect();
    assert_eq!(columns.len(), 11, "every field has a column: {columns:?}");

    let numbers = load("numbers.gpkg", "").await;
    assert_eq!(
        (
            &numbers.result["rows_loaded"],
            &numbers.result["rows_rejected"]
        ),
        (&json!(2), &json!(2))
    );

    for blob in ["cyrillic.shp", "cyrillic.zip"] {
        let cyrillic = load(blob, "").await;
        assert_eq!(cyrillic.rows[0]["name"], "Москва", "{blob}");
    }

    let latin = load("latin.csv", "EPSG:4326").await;
    assert_eq!(latin.rows[0]["name"], "M\u{fffd}nchen");
    assert!(
        latin.validated["warnings"]
            .to_string()
            .contains("not UTF-8")
    );

    for (blob, count) in [("mark.geojson", 10), ("good.zip", 10), ("no_dbf.shp", 900)] {
        let loaded = load(blob, "").await;
        assert_eq!(loaded.rows.len(), count, "{blob}");
    }
    valid_stac(&stage).await;
    stage.nothing_is_left().await;
}
