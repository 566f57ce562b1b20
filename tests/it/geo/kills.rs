//! Workers that die in the middle: what has its final name is complete, and work goes on where it was.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{DEADLINE, Stage, files_below, python};

/// Deaths of one test.
const DEATHS: u64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_while_it_makes_a_cog_leaves_nothing_or_all_of_it() {
    let stage = Stage::new("geo_killed_cog").await;
    let source = stage.make_files().join("large.tif");
    let inputs = json!({"container_name": "uploads", "blob_name": "large.tif"});
    let mut worker = stage.worker();
    for death in 0..DEATHS {
        let job = stage.rig.submit("process_raster_v2", inputs.clone()).await;
        // At another moment each time, from the start of the child to the end of the job.
        tokio::time::sleep(Duration::from_millis(150 + 97 * death)).await;
        worker.signal(Signal::KILL);
        worker = stage.worker();
        for cog in cogs(&stage) {
            assert!(judged(&cog, &source), "after {death} deaths: {cog}");
        }
        let ended = stage.ended(&job).await;
        assert!(ended.is_ok(), "{ended:?}");
    }
    // The same content has the same name, however often it was made.
    assert_eq!(cogs(&stage).len(), 1, "{:?}", cogs(&stage));
    stage.rig.all_ended(DEADLINE).await;
    assert_eq!(worker.terminate(DEADLINE).await, Some(0));
}

fn cogs(stage: &Stage) -> Vec<String> {
    let files = files_below(&stage.silver()).into_iter();
    let cogs = files.filter(|path| path.extension().is_some_and(|end| end == "tif"));
    cogs.map(|path| path.to_str().unwrap().to_owned()).collect()
}

fn judged(cog: &str, source: &std::path::Path) -> bool {
    let said = python("judge_cog.py", &[cog, source.to_str().unwrap()], None);
    let said: Value = serde_json::from_str(&said).unwrap();
    said["valid"] == true && said["equal"] == true && said["transform"] == true
}

#[tokio::test(flavor = "multi_thread")]
async fn tiles_go_on_with_the_next_one_after_a_death_and_after_a_farewell() {
    let stage = Stage::new("geo_killed_tiles").await;
    stage.make_files();
    let worker = stage.worker();
    // 2048 pixels in tiles of 512 that share none: 16 tiles in one batch.
    let inputs = json!({
        "container_name": "uploads", "blob_name": "large.tif", "collection_id": "tiles",
        "tile_size": 512, "tile_overlap": 0,
    });
    let job = stage.rig.submit("process_raster_tiled", inputs).await;
    let made = async |count: i64| stage.rig.events("checkpoint_saved").await >= count;
    stage
        .rig
        .eventually("three tiles", DEADLINE, async || made(3).await)
        .await;
    worker.signal(Signal::KILL);
    let worker = stage.worker();
    stage
        .rig
        .eventually("eight tiles", DEADLINE, async || made(8).await)
        .await;
    assert_eq!(worker.terminate(DEADLINE).await, Some(0));
    let _worker = stage.worker();
    let result = stage.ended(&job).await.unwrap();
    assert_eq!(result["tile_count"], 16, "{result}");
    assert_eq!(result["items_created"], 16, "{result}");
    let mosaic = result["viewer_url"].as_str().unwrap_or_default();
    assert!(
        mosaic.starts_with("https://tiler.test/searches/"),
        "{result}"
    );
    // At most the tile that was being made is made again: each has one checkpoint, none more than one more.
    let checkpoints = stage.rig.events("checkpoint_saved").await;
    assert!((16..=18).contains(&checkpoints), "{checkpoints}");
    assert_eq!(cogs(&stage).len(), 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_stops_gdal_at_once() {
    let stage = Stage::new("geo_cancel").await;
    let folder = stage.uploads();
    python(
        "make_large.py",
        &[folder.join("slow.tif").to_str().unwrap()],
        None,
    );
    let _worker = stage.worker();
    let inputs = json!({"container_name": "uploads", "blob_name": "slow.tif"});
    let job = stage.rig.submit("process_raster_v2", inputs).await;
    let busy = async || children(&stage) > 0 && stage.rig.events("node_completed").await >= 1;
    stage
        .rig
        .eventually("the COG is being made", DEADLINE, busy)
        .await;
    let begun = tokio::time::Instant::now();
    stage
        .rig
        .writer
        .cancel(job.job_id, "test", "test")
        .await
        .unwrap();
    let gone = async || children(&stage) == 0;
    stage
        .rig
        .eventually("GDAL has stopped", DEADLINE, gone)
        .await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert!(stage.ended(&job).await.is_err());
    stage.nothing_is_left();
    assert!(cogs(&stage).is_empty());
}

/// Native processes whose directory is the scratch of this test.
fn children(stage: &Stage) -> usize {
    let scratch = stage.rig.dir.join("scratch").canonicalize();
    let Ok(scratch) = scratch else { return 0 };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let inside = processes.filter(|process| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&scratch))
    });
    inside.count()
}
