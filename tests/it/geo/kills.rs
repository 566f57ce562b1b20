//! Workers that die in the middle: what has its final name is complete, and work goes on where it was.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::{Value, json};
use sqlx::Row as _;
use tokio::time::{Instant, sleep};

use super::judges::{files_below, is_faithful, sha256};
use super::stage::{DEADLINE, Stage};
use crate::system::rig::{Process, WORKER};

/// Deaths of one test.
const DEATHS: usize = 20;
/// So many that none dies three times, which would fail its attempt and make everyone wait for the next.
const JOBS: usize = 12;
/// Deaths that must strike before the COG is done; the others come a moment too late, as chance wants it.
const STRUCK_MIN: usize = 15;
/// A COG of this edge takes seconds.
const EDGE: u32 = 4096;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_while_it_makes_a_cog_leaves_nothing_or_all_of_it() {
    let stage = Stage::new("geo_killed_cog").await;
    let mut deaths = Deaths::prepare(&stage).await;
    let mut chance = Chance::new();
    let mut jobs = Vec::new();
    for number in 0..JOBS {
        let blob = format!("slow-{number}.tif");
        std::fs::hard_link(&deaths.source, stage.uploads().join(&blob)).unwrap();
        let inputs = json!({"container_name": "uploads", "blob_name": blob, "item_id": blob});
        jobs.push(stage.rig.submit("process_raster_v2", inputs).await);
    }
    let mut worker = alone(&stage);
    let mut victims = Vec::new();
    for death in 0..DEATHS {
        victims.push(deaths.next_run().await);
        sleep(deaths.length.mul_f64(chance.fraction())).await;
        worker.signal(Signal::KILL);
        // Waits for its end.
        drop(worker);
        deaths.all_whole(&format!("after {death} deaths"));
        worker = alone(&stage);
    }
    // Before that it does not hear.
    let ready = async || worker.after("the worker is").is_some();
    stage.rig.eventually("a worker", DEADLINE, ready).await;
    assert_eq!(worker.terminate(DEADLINE).await, Some(0));
    let worker = stage.worker();
    for job in &jobs {
        let ended = stage.ended(job).await;
        assert!(ended.is_ok(), "{ended:?}");
    }
    deaths.all_whole("in the end");
    // Each job has one, and so has the first, which nobody disturbed.
    assert_eq!(cogs(&stage).len(), JOBS + 1, "{:?}", cogs(&stage));
    let struck = deaths.struck(&victims).await;
    println!(
        "{struck} of {DEATHS} deaths struck before the COG was done, which takes {:?}",
        deaths.length
    );
    assert!(struck >= STRUCK_MIN, "{struck}");
    assert_eq!(worker.terminate(DEADLINE).await, Some(0));
    deaths.cleared().await;
}

/// What is known of the COGs that are made.
struct Deaths<'a> {
    stage: &'a Stage,
    source: PathBuf,
    /// How long one takes that nobody disturbs.
    length: Duration,
    /// SHA-256 of one that was judged.
    good: String,
    /// Runs that were seen.
    runs: BTreeSet<String>,
    /// COGs that were found to be whole.
    whole: BTreeSet<PathBuf>,
}

impl<'a> Deaths<'a> {
    /// Makes one COG, judges it, and takes its time.
    async fn prepare(stage: &'a Stage) -> Self {
        let source = stage.make_large("slow.tif", EDGE);
        let mut deaths = Self {
            stage,
            source,
            length: Duration::ZERO,
            good: String::new(),
            runs: BTreeSet::new(),
            whole: BTreeSet::new(),
        };
        let worker = alone(stage);
        let inputs = json!({"container_name": "uploads", "blob_name": "slow.tif"});
        let job = stage.rig.submit("process_raster_v2", inputs).await;
        let run = deaths.next_run().await;
        let begun = Instant::now();
        let done = async || deaths.is_told(&run, "node_completed").await;
        stage
            .rig
            .eventually("the COG is done", DEADLINE, done)
            .await;
        deaths.length = begun.elapsed();
        let result = stage.ended(&job).await.unwrap();
        let cog = stage.artifact(&result);
        is_faithful(&cog, &deaths.source);
        deaths.good = sha256(&cog);
        assert_eq!(worker.terminate(DEADLINE).await, Some(0));
        deaths
    }

    /// Waits until a run makes a COG that was not seen before. Only `create_cog` has such a folder.
    async fn next_run(&mut self) -> String {
        let scratch = self.stage.rig.dir.join("scratch");
        let below = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let found = || {
            let runs = below(scratch.clone()).flat_map(|worker| below(worker.path()));
            let mut runs = runs.filter(|run| run.path().join("cog").exists());
            runs.find(|run| !self.runs.contains(run.file_name().to_str().unwrap()))
        };
        let there = async || found().is_some();
        self.stage
            .rig
            .eventually("a COG is made", DEADLINE, there)
            .await;
        let run = found().unwrap().file_name().into_string().unwrap();
        self.runs.insert(run.clone());
        run
    }

    /// Whatever has its final name has all its pixels.
    fn all_whole(&mut self, when: &str) {
        for cog in cogs(self.stage) {
            if self.whole.insert(cog.clone()) && sha256(&cog) != self.good {
                println!("{when}: {} has other bytes", cog.display());
                is_faithful(&cog, &self.source);
            }
        }
    }

    async fn is_told(&self, run: &str, kind: &str) -> bool {
        let row = sqlx::query(
            "select count(*) from dagapp.events
             where type = $1 and position(convert_to($2, 'UTF8') in payload) > 0",
        )
        .bind(kind)
        .bind(run)
        .fetch_one(&self.stage.rig.pool);
        row.await.unwrap().get::<i64, _>(0) > 0
    }

    /// How many runs died before they were done, by the log.
    async fn struck(&self, victims: &[String]) -> usize {
        let mut struck = 0;
        for run in victims {
            let lost = self.is_told(run, "run_lost").await;
            let done = self.is_told(run, "node_completed").await;
            assert!(!(lost && done), "{run} is lost and done");
            struck += usize::from(lost);
        }
        struck
    }

    /// What the dead have left goes when the next worker comes, once it is old enough.
    async fn cleared(&self) {
        for path in files_below(&self.stage.rig.dir.join("scratch")) {
            if path.extension().is_some_and(|end| end == "lock") {
                let lock = File::options().append(true).open(&path).unwrap();
                lock.set_modified(SystemTime::UNIX_EPOCH).unwrap();
            }
        }
        let worker = self.stage.worker();
        self.stage.nothing_is_left().await;
        assert_eq!(worker.terminate(DEADLINE).await, Some(0));
    }
}

/// A worker that does one thing at a time in each queue, so that it is known what dies with it.
fn alone(stage: &Stage) -> Process {
    let args = [WORKER, &["--concurrency", "1"]].concat();
    let env = [("STRATA_CATALOG_URL", stage.catalog_url.as_str())];
    stage.rig.spawn("worker", &args, &env)
}

/// Numbers that come again with the same seed; it is told, and taken from `STRATA_TEST_SEED` if that is set.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        let given = std::env::var("STRATA_TEST_SEED").ok();
        let fresh = || commands::write::fresh_id().as_u64_pair().1 >> 40;
        let seed = given.map_or_else(fresh, |seed| seed.parse().unwrap());
        println!("STRATA_TEST_SEED={seed}");
        Self(seed)
    }

    /// From 0 up to, but not including, 1.
    fn fraction(&mut self) -> f64 {
        let step = 6_364_136_223_846_793_005_u64;
        self.0 = self
            .0
            .wrapping_mul(step)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 33).unwrap()) / f64::from(1_u32 << 31)
    }
}

fn cogs(stage: &Stage) -> Vec<PathBuf> {
    let files = files_below(&stage.silver()).into_iter();
    files
        .filter(|path| path.extension().is_some_and(|end| end == "tif"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tiles_go_on_with_the_next_one_after_a_death_and_after_a_farewell() {
    let stage = Stage::new("geo_killed_tiles").await;
    stage.make_large("large.tif", 5120);
    let worker = stage.worker();
    // 5120 pixels in tiles of 512 that share none: 100 tiles, 16 in a batch, two batches at a time.
    let inputs = json!({
        "container_name": "uploads", "blob_name": "large.tif", "collection_id": "tiles",
        "tile_size": 512, "tile_overlap": 0,
    });
    let job = stage.rig.submit("process_raster_tiled", inputs).await;
    let made = async |count: i64| stage.rig.events("checkpoint_saved").await >= count;
    stage
        .rig
        .eventually("30 tiles", DEADLINE, async || made(30).await)
        .await;
    worker.signal(Signal::KILL);
    let worker = stage.worker();
    stage
        .rig
        .eventually("60 tiles", DEADLINE, async || made(60).await)
        .await;
    assert_eq!(worker.terminate(DEADLINE).await, Some(0));
    let _worker = stage.worker();
    let result = stage.ended(&job).await.unwrap();
    assert_eq!(result["tile_count"], 100, "{result}");
    assert_eq!(result["items_created"], 100, "{result}");
    let mosaic = result["viewer_url"].as_str().unwrap_or_default();
    assert!(
        mosaic.starts_with("https://tiler.test/searches/"),
        "{result}"
    );
    // At most the tiles that were being made are made again: one of each batch that was at work, at either end.
    let checkpoints = stage.rig.events("checkpoint_saved").await;
    assert!((100..=104).contains(&checkpoints), "{checkpoints}");
    assert_eq!(cogs(&stage).len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_while_it_copies_to_the_mount_leaves_nothing_or_all_of_it() {
    let stage = Stage::new("geo_killed_copy").await;
    let registered = stage.rig.writer.register_workflow(TO_MOUNT.as_bytes());
    registered.await.unwrap();
    let source = stage.uploads().join("large.bin");
    let file = File::create(&source).unwrap();
    // Long enough to be struck in the middle, and without content that a disk would have to keep.
    file.set_len(512 * 1024 * 1024).unwrap();
    let folder = stage.rig.dir.join("mount/uploads");
    let target = folder.join("large.bin");
    let parts = || -> Vec<PathBuf> {
        let files = files_below(&folder).into_iter();
        files.filter(|path| *path != target).collect()
    };
    let job = stage.rig.submit("to_mount", json!({})).await;
    for _ in 0..2 {
        let worker = alone(&stage);
        let known = parts();
        let begun = async || parts().iter().any(|part| !known.contains(part));
        stage
            .rig
            .eventually("a copy is begun", DEADLINE, begun)
            .await;
        worker.signal(Signal::KILL);
        drop(worker);
        assert!(!target.exists(), "half a copy has its name");
    }
    for part in parts() {
        let part = File::options().append(true).open(part).unwrap();
        part.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    let _worker = stage.worker();
    let result = stage.ended(&job).await.unwrap();
    assert_eq!(result["size_bytes"], 512 * 1024 * 1024, "{result}");
    assert_eq!(sha256(&target), sha256(&source));
    assert_eq!(parts(), Vec::<PathBuf>::new());
    std::fs::remove_file(target).unwrap();
}

/// Only copies.
const TO_MOUNT: &str = "
workflow_id: to_mount
name: To the mount
version: 1
nodes:
  START: { type: start, next: copy }
  copy:
    type: task
    handler: raster.blob_to_mount
    params: { container_name: uploads, blob_name: large.bin }
    next: END
  END: { type: end }
result:
  size_bytes: \"{{ nodes.copy.output.size_bytes }}\"
";

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_stops_gdal_at_once() {
    let stage = Stage::new("geo_cancel").await;
    stage.make_large("slow.tif", 8192);
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
    println!("GDAL stopped {took:?} after the cancel");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(
        stage.ended(&job).await,
        Err(Value::Null),
        "a cancelled job has no failure"
    );
    stage.nothing_is_left().await;
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
