//! Tiers that lie in an object store: the same results, read in place where only parts are needed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Map, Value, json};

use super::judges::{geo_python, is_faithful, sha256};
use super::pipeline::valid_stac;
use super::stage::Stage;
use crate::system::rig::{Process, target};

/// Only copies.
const TO_MOUNT: &str = "
workflow_id: to_mount
name: To the mount
version: 1
inputs:
  storage_account: { type: string, default: \"\" }
nodes:
  START: { type: start, next: copy }
  copy:
    type: task
    handler: raster.blob_to_mount
    params:
      container_name: uploads
      blob_name: tiled.tif
      storage_account: \"{{ inputs.storage_account }}\"
    next: END
  END: { type: end }
result:
  local_path: \"{{ nodes.copy.output.local_path }}\"
  size_bytes: \"{{ nodes.copy.output.size_bytes }}\"
";

/// An object store that others have written; it ends when this is dropped.
struct Objects {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    url: String,
    env: Map<String, Value>,
}

impl Objects {
    /// With the files of a folder as uploads.
    fn start(kind: &str, bucket: &str, folder: &Path) -> Self {
        let azurite = node_tools().join("node_modules/.bin/azurite-blob");
        let script = crate::repo::root().join("tests/python/serve_objects.py");
        let mut child = Command::new(geo_python())
            .args(["-W", "ignore"])
            .arg(script)
            .args([kind, bucket])
            .args([folder, &azurite])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut objects = Self {
            child,
            orders,
            answers: BufReader::new(answers),
            url: String::new(),
            env: Map::new(),
        };
        let said = objects.hear();
        objects.url = said["url"].as_str().unwrap().to_owned();
        objects.env = said["env"].as_object().unwrap().clone();
        objects
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect("the object store says something")
    }

    fn ask(&mut self, order: &Value) -> Value {
        writeln!(self.orders, "{order}").unwrap();
        self.hear()
    }

    /// The object as a file.
    fn get(&mut self, key: &str, to: PathBuf) -> PathBuf {
        self.ask(&json!({"get": key, "to": to}));
        to
    }

    /// A worker whose tiers lie here.
    fn worker(&self, stage: &Stage) -> Process {
        let tier = |name: &str| format!("{}/{name}", self.url);
        let tiers = [tier("bronze"), tier("silver"), tier("gold")];
        let names = ["STRATA_BRONZE", "STRATA_SILVER", "STRATA_GOLD"];
        let mut env: Vec<(&str, &str)> = names
            .into_iter()
            .zip(tiers.iter().map(String::as_str))
            .collect();
        env.push(("STRATA_CATALOG_URL", &stage.catalog_url));
        let more = self.env.iter();
        env.extend(more.map(|(name, value)| (name.as_str(), value.as_str().unwrap())));
        stage.rig.worker(2, &env)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // Its own end is the clean one: it stops what it has started.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::INT,
        );
        let _ = self.child.wait();
    }
}

fn node_tools() -> PathBuf {
    let given = std::env::var_os("STRATA_TEST_NODE").map(PathBuf::from);
    given.unwrap_or_else(|| target().join("tools/node"))
}

#[tokio::test(flavor = "multi_thread")]
async fn rasters_and_layers_in_s3_are_processed_like_files() {
    let stage = Stage::new("geo_s3").await;
    let (source, tiled) = (
        stage.make_large("made.tif", 900),
        stage.make_large("tiled.tif", 2048),
    );
    let sidecars =
        ["shp", "shx", "dbf", "prj", "cpg"].map(|end| format!("naturalearth_lowres.{end}"));
    stage.upload_real(&sidecars.each_ref().map(String::as_str));
    let mut objects = Objects::start("s3", "strata-test", &stage.uploads());
    let _worker = objects.worker(&stage);

    let inputs = json!({"container_name": "uploads", "blob_name": "made.tif"});
    let result = stage.run("raster_processing", inputs).await;
    let uri = result["artifacts"][0]["uri"].as_str().unwrap();
    let key = uri.replace("silver://", "silver/");
    let cog = objects.get(&key, stage.rig.dir.join("made_cog.tif"));
    is_faithful(&cog, &source);
    assert_eq!(result["artifacts"][0]["sha256"], sha256(&cog));
    let item = stage.items().await.remove(0);
    assert_eq!(
        item["assets"]["data"]["href"],
        format!("s3://strata-test/{key}")
    );

    // 16 tiles of 512 pixels: one look at all of it, and then only at parts of it.
    let inputs = json!({
        "container_name": "uploads", "blob_name": "tiled.tif", "collection_id": "tiles", "tile_size": 512,
        "tile_overlap": 0,
    });
    let result = stage.run("process_raster_tiled", inputs).await;
    assert_eq!(result["items_created"], 16, "{result}");
    let reads = objects.ask(&json!({"reads": "bronze/uploads/tiled.tif"}));
    assert_eq!(reads["whole"], 1, "{reads}");
    assert!(reads["parts"].as_u64() > Some(1), "{reads}");
    let tiles = stage
        .items()
        .await
        .into_iter()
        .filter(|item| item["collection"] == "tiles");
    let first = tiles.min_by_key(|item| item["id"].to_string()).unwrap();
    let href = first["assets"]["data"]["href"].as_str().unwrap();
    let key = href.strip_prefix("s3://strata-test/").unwrap();
    let tile = objects.get(key, stage.rig.dir.join("tile.tif"));
    let corner = super::judges::judged("judge_tile.py", &[&tile, &tiled], &[]);
    assert_eq!(corner, json!({"valid": true, "equal": true}));

    let inputs = json!({"container_name": "uploads", "blob_name": "naturalearth_lowres.shp", "table_name": "countries"});
    let result = stage.run("vector_ingest", inputs).await;
    assert_eq!(result["rows_loaded"], 177, "{result}");
    valid_stac(&stage).await;
    stage.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rasters_in_azure_are_processed_like_files_and_accounts_are_checked() {
    let stage = Stage::new("geo_azure").await;
    let tiled = stage.make_large("tiled.tif", 2048);
    let registered = stage
        .rig
        .writer
        .register_workflow(TO_MOUNT.as_bytes())
        .await;
    registered.unwrap();
    let mut objects = Objects::start("azure", "strata-test", &stage.uploads());
    let _worker = objects.worker(&stage);

    let inputs = json!({"container_name": "uploads", "blob_name": "tiled.tif"});
    let result = stage.run("raster_processing", inputs).await;
    let uri = result["artifacts"][0]["uri"].as_str().unwrap();
    let cog = objects.get(
        &uri.replace("silver://", "silver/"),
        stage.rig.dir.join("cog.tif"),
    );
    is_faithful(&cog, &tiled);

    let inputs = json!({
        "container_name": "uploads", "blob_name": "tiled.tif", "collection_id": "tiles", "tile_size": 1024,
        "tile_overlap": 0,
    });
    let result = stage.run("process_raster_tiled", inputs).await;
    assert_eq!(result["items_created"], 4, "{result}");

    for account in ["", "strataaccount"] {
        let inputs = json!({"storage_account": account});
        let result = stage.run("to_mount", inputs).await;
        let copy = result["local_path"].as_str().unwrap();
        let copy = stage.rig.dir.join("mount").join(copy);
        assert_eq!(sha256(&copy), sha256(&tiled));
        assert_eq!(result["size_bytes"], copy.metadata().unwrap().len());
        std::fs::remove_file(copy).unwrap();
    }
    let inputs = json!({"storage_account": "elsewhere"});
    let refused = stage.rig.submit("to_mount", inputs).await;
    let refused = stage.ended(&refused).await.unwrap_err().to_string();
    assert!(
        refused.contains("storage_account") && refused.contains("`elsewhere`"),
        "{refused}"
    );
    stage.nothing_is_left().await;
}
