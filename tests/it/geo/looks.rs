//! Looking at what earlier jobs made: rasters by their hash, tables by the load that they hold.

use commands::submit::{Order, Submitted};
use serde_json::{Value, json};

use super::stage::Stage;
use crate::system::rig::order;

const LOOK: &str = include_str!("../../../workflows/verify_artifacts.yaml");

/// Runs a workflow for the asset of this name.
async fn make(stage: &Stage, name: &str, workflow: &str, inputs: Value) -> Submitted {
    let order = Order {
        refs: serde_json::from_value(json!({ "name": name })).unwrap(),
        ..order(workflow, serde_json::from_value(inputs).unwrap())
    };
    let submitted = stage.rig.writer.submit(order).await.unwrap();
    stage.ended(&submitted).await.unwrap();
    submitted
}

/// What a worker finds of the only artifact of a revision: the verdict, and why.
async fn look(stage: &Stage, of: &Submitted, revision: u32) -> (String, String) {
    // The asset gets its revision after its job has ended.
    let asset = of.asset_id.unwrap();
    let begun = async || {
        let writer = &stage.rig.writer;
        writer
            .check_artifacts("acme", asset, revision, "test")
            .await
    };
    let there = async || begun().await.is_ok();
    let deadline = super::stage::DEADLINE;
    stage
        .rig
        .eventually("the revision is there", deadline, there)
        .await;
    let submitted = begun().await.unwrap();
    let found = stage.ended(&submitted).await.unwrap();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        word(&found["verdicts"][0]),
        word(&found["details"][0]["detail"]),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raster_is_known_by_its_hash_and_a_table_by_the_load_that_it_holds() {
    let stage = Stage::new("geo_looks").await;
    stage.rig.writer.register_platforms().await.unwrap();
    stage
        .rig
        .writer
        .register_workflow(LOOK.as_bytes())
        .await
        .unwrap();
    let files = ["shp", "shx", "dbf", "prj", "cpg"].map(|end| format!("naturalearth_lowres.{end}"));
    stage.upload_real(&files.iter().map(String::as_str).collect::<Vec<_>>());
    stage.upload_real(&["L7_ETMs.tif"]);
    let _worker = stage.worker();
    let raster = json!({"container_name": "uploads", "blob_name": "L7_ETMs.tif"});
    let made = make(&stage, "landsat", "process_raster_v2", raster).await;
    assert_eq!(
        look(&stage, &made, 1).await,
        ("intact".to_owned(), String::new())
    );

    let layer = json!({
        "container_name": "uploads", "blob_name": "naturalearth_lowres.shp", "table_name": "countries",
    });
    let first = make(&stage, "countries", "vector_ingest", layer.clone()).await;
    let (verdict, why) = look(&stage, &first, 1).await;
    assert_eq!(verdict, "unverifiable", "{why}");
    assert!(why.contains(&first.job_id.to_string()), "{why}");
    let second = make(&stage, "countries", "vector_ingest", layer).await;
    let (verdict, why) = look(&stage, &first, 1).await;
    assert_eq!(verdict, "changed", "{why}");
    assert!(why.contains(&second.job_id.to_string()), "{why}");
    let catalog = sqlx::PgPool::connect(&stage.catalog_url).await.unwrap();
    sqlx::query("drop table geo.countries")
        .execute(&catalog)
        .await
        .unwrap();
    assert_eq!(look(&stage, &first, 2).await.0, "missing");
}
