//! Real data all the way through the workflows, into the catalog, and found there by the programs of others.

use serde_json::{Value, json};
use sqlx::{PgPool, Row as _};

use super::judges::{is_faithful, python};
use super::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn a_real_raster_becomes_a_cog_in_the_catalog() {
    let stage = Stage::new("geo_raster").await;
    let names = ["L7_ETMs.tif", "olinda_dem_utm25s.tif"];
    stage.upload_real(&names);
    let _worker = stage.worker();
    for name in names {
        let inputs = json!({"container_name": "uploads", "blob_name": name, "tags": ["real"]});
        let result = stage.run("raster_processing", inputs).await;
        is_faithful(&stage.artifact(&result), &stage.uploads().join(name));
    }
    let items = stage.items().await;
    assert_eq!(items.len(), 2);
    stage.nothing_is_left().await;
    valid_stac(&stage).await;
    found_by_others(&stage, &items);
    // A second run of the same changes nothing.
    let inputs = json!({"container_name": "uploads", "blob_name": "L7_ETMs.tif", "tags": ["real"]});
    stage.run("raster_processing", inputs).await;
    assert_eq!(stage.items().await.len(), 2);
}

/// Whoever asks a STAC API on the database finds the items: by collection, by place, by id, and page by page.
fn found_by_others(stage: &Stage, items: &[Value]) {
    let first = &items[0];
    let mut ids: Vec<&str> = items
        .iter()
        .filter_map(|item| item["id"].as_str())
        .collect();
    ids.sort_unstable();
    let wanted = json!({
        "database_url": stage.catalog_url, "collection": "rasters", "id": first["id"], "bbox": first["bbox"],
        "elsewhere": [100.0, 50.0, 101.0, 51.0],
    });
    let said = python("judge_catalog.py", &[], Some(&wanted));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["collections"], json!(["rasters"]), "{said}");
    // Both lie in the same corner of Brazil.
    for way in ["in_collection", "in_box", "pages"] {
        assert_eq!(said[way], json!(ids), "{way}: {said}");
    }
    assert_eq!(said["elsewhere"], json!([]), "{said}");
    assert_eq!(said["by_id"], json!([first["id"]]), "{said}");
    for property in ["proj:code", "title", "keywords", "strata:job_id"] {
        assert_eq!(
            said["item"][property], first["properties"][property],
            "{property}"
        );
    }
}

/// Everything that the catalog has is valid by pystac; and by the schemas of the extensions, where they are at hand.
pub(super) async fn valid_stac(stage: &Stage) {
    let schemas = std::env::var("STRATA_STAC_SCHEMAS").ok();
    let args: Vec<&str> = schemas.as_deref().into_iter().collect();
    let (mut all, collections) = (stage.items().await, stage.collections().await);
    all.extend(collections);
    let count = all.len();
    let said = python("judge_stac.py", &args, Some(&Value::Array(all)));
    assert_eq!(said.trim(), count.to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_layer_becomes_a_table_with_the_same_features() {
    let stage = Stage::new("geo_vector").await;
    let files = ["shp", "shx", "dbf", "prj", "cpg"].map(|end| format!("naturalearth_lowres.{end}"));
    stage.upload_real(&files.iter().map(String::as_str).collect::<Vec<_>>());
    let _worker = stage.worker();
    let inputs = json!({
        "container_name": "uploads", "blob_name": "naturalearth_lowres.shp", "table_name": "countries",
        "chunk_size": 100,
    });
    let catalog = PgPool::connect(&stage.catalog_url).await.unwrap();
    for _ in 0..2 {
        let result = stage.run("vector_ingest", inputs.clone()).await;
        assert_eq!(result["rows_loaded"], 177, "{result}");
        assert_eq!(result["rows_rejected"], 0, "{result}");
        let row = sqlx::query(
            "select count(*) as rows, count(distinct fid) as fids, bool_and(ST_IsValid(geom)) as valid,
                    min(ST_SRID(geom)) as srid, count(*) filter (where name = 'Fiji') as fiji
             from geo.countries",
        )
        .fetch_one(&catalog)
        .await
        .unwrap();
        assert_eq!(row.get::<i64, _>("rows"), 177);
        assert_eq!(row.get::<i64, _>("fids"), 177);
        assert_eq!(row.get::<i64, _>("fiji"), 1);
        assert_eq!(row.get::<i32, _>("srid"), 4326);
        assert!(row.get::<bool, _>("valid"));
    }
    let items = stage.items().await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["id"], "countries");
    valid_stac(&stage).await;
    // The role of workers reaches the catalog and nothing else.
    let log = sqlx::query("select 1 from dagapp.events limit 1")
        .fetch_all(&catalog)
        .await;
    assert!(log.is_err(), "the log is not theirs");
    stage.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_are_those_of_another_implementation() {
    let stage = Stage::new("geo_h3").await;
    let _worker = stage.worker();
    let inputs = json!({"resolution": 5, "cascade_to": 7, "bounds": [10.0, 45.0, 11.0, 46.0]});
    let result = stage.run("create_h3_base", inputs).await;
    assert_eq!(result["table"], "geo.h3_base", "{result}");
    let catalog = PgPool::connect(&stage.catalog_url).await.unwrap();
    let of = async |resolution: i16| -> Vec<i64> {
        sqlx::query_scalar("select h3 from geo.h3_base where resolution = $1 order by h3")
            .bind(resolution)
            .fetch_all(&catalog)
            .await
            .unwrap()
    };
    let (base, fine) = (of(5).await, of(7).await);
    let said = python(
        "judge_h3.py",
        &[],
        Some(&json!({"base": base, "fine": fine})),
    );
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said, json!({"covered": true, "descendants": true}));
    // Again: nothing is new.
    let inputs = json!({"resolution": 5, "bounds": [10.0, 45.0, 11.0, 46.0]});
    let again = stage.run("create_h3_base", inputs).await;
    assert_eq!(again["cell_count"], base.len());
    assert_eq!(of(5).await, base);
    // Finer ones beside those that are there: with something hanging on the key, and without.
    let sql = async |sql: &'static str| sqlx::query(sql).execute(&catalog).await.unwrap();
    sql("create table geo.reader (h3 bigint references geo.h3_base (h3))").await;
    for to in [8, 9] {
        let inputs = json!({"resolution": 5, "cascade_to": to, "bounds": [10.0, 45.0, 11.0, 46.0]});
        stage.run("create_h3_base", inputs).await;
        assert_eq!(of(to).await.len(), 7 * of(to - 1).await.len());
        sql("drop table if exists geo.reader").await;
    }
    let key: Vec<String> = sqlx::query_scalar(
        "select pg_get_constraintdef(oid) from pg_constraint
         where conrelid = 'geo.h3_base'::regclass and conname = 'h3_base_pkey'",
    )
    .fetch_all(&catalog)
    .await
    .unwrap();
    assert_eq!(key, ["PRIMARY KEY (h3)"]);
}
