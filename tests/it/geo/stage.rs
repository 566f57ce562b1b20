//! A rig with a catalog, tiers and a worker that has GDAL.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use commands::submit::Submitted;
use domain::id::JobId;
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row as _};

use super::judges::{files_below, python};
use crate::system::rig::{Process, Rig, target};

pub(super) const DEADLINE: Duration = Duration::from_secs(120);
/// Where callbacks say that the result is.
pub(super) const PUBLIC_URL: &str = "https://strata.example";

/// The workflows that ship, as they ship.
const SHIPPED: [&str; 5] = [
    include_str!("../../../workflows/raster_processing.yaml"),
    include_str!("../../../workflows/process_raster_v2.yaml"),
    include_str!("../../../workflows/process_raster_tiled.yaml"),
    include_str!("../../../workflows/vector_ingest.yaml"),
    include_str!("../../../workflows/create_h3_base.yaml"),
];

pub(super) struct Stage {
    pub(super) rig: Rig,
    pub(super) catalog_url: String,
    _roles: Vec<Process>,
}

impl Stage {
    /// With an orchestrator and a projector, which may call back to this machine; workers come later.
    pub(super) async fn new(name: &str) -> Self {
        let rig = Rig::new(name).await;
        for tier in ["bronze", "silver", "gold", "mount", "scratch"] {
            let _ = std::fs::remove_dir_all(rig.dir.join(tier));
        }
        for text in SHIPPED {
            let done = rig.writer.register_workflow(text.as_bytes()).await.unwrap();
            let new = matches!(done, commands::register::Registered::New { .. });
            assert!(new, "{done:?}");
        }
        let catalog_url = catalog_url(&rig.database_url, name);
        install(&rig, &catalog_url);
        let callbacks = [
            ("STRATA_CALLBACK_ALLOW", "127.0.0.1/32"),
            ("STRATA_PUBLIC_URL", PUBLIC_URL),
        ];
        let projector = rig.spawn("projector", &[], &callbacks);
        let roles = vec![rig.orchestrator(&[]), projector];
        Self {
            rig,
            catalog_url,
            _roles: roles,
        }
    }

    pub(super) fn worker(&self) -> Process {
        let env = [
            ("STRATA_CATALOG_URL", self.catalog_url.as_str()),
            ("STRATA_TILER_URL", "https://tiler.test"),
        ];
        self.rig.worker(2, &env)
    }

    /// The folder of uploads; made.
    pub(super) fn uploads(&self) -> PathBuf {
        let folder = self.rig.dir.join("bronze/uploads");
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    pub(super) fn silver(&self) -> PathBuf {
        self.rig.dir.join("silver")
    }

    /// Files that a script makes: good, odd and bad ones.
    pub(super) fn make(&self, script: &str) -> PathBuf {
        let folder = self.uploads();
        python(script, &[folder.to_str().unwrap()], None);
        folder
    }

    /// A raster of so many rows and columns that does not compress well.
    pub(super) fn make_large(&self, name: &str, edge: u32) -> PathBuf {
        let file = self.uploads().join(name);
        let args = [file.to_str().unwrap(), &edge.to_string()];
        python("make_large.py", &args, None);
        file
    }

    /// The file that a result names as its first artifact.
    pub(super) fn artifact(&self, result: &Value) -> PathBuf {
        let uri = result["artifacts"][0]["uri"].as_str().unwrap();
        self.silver().join(uri.strip_prefix("silver://").unwrap())
    }

    /// Files of real data.
    pub(super) fn upload_real(&self, names: &[&str]) {
        for name in names {
            std::fs::copy(real(name), self.uploads().join(name)).unwrap();
        }
    }

    /// Waits for the end of a job; its result, or its failure.
    pub(super) async fn ended(&self, submitted: &Submitted) -> Result<Value, Value> {
        let job = submitted.job_id;
        let done = async || self.rig.end_of(job).await.is_some();
        self.rig.eventually("the job ends", DEADLINE, done).await;
        match self.told(job, "job_completed").await.first() {
            Some(completed) => Ok(completed["result"].clone()),
            None => {
                // A cancelled job has no failure.
                let failed = self.told(job, "job_failed").await.pop();
                Err(failed.map_or(Value::Null, |failed| failed["failure"].clone()))
            }
        }
    }

    /// The events of one type in the stream of a job.
    pub(super) async fn told(&self, job: JobId, kind: &str) -> Vec<Value> {
        let rows = sqlx::query(
            "select payload from dagapp.events where stream_id = $1 and type = $2 order by pos",
        )
        .bind(format!("job:{job}"))
        .bind(kind)
        .fetch_all(&self.rig.pool)
        .await
        .unwrap();
        let payload = |row: &PgRow| serde_json::from_slice(row.get::<&[u8], _>("payload")).unwrap();
        rows.iter().map(payload).collect()
    }

    /// Runs a workflow to its result.
    pub(super) async fn run(&self, workflow: &str, inputs: Value) -> Value {
        let submitted = self.rig.submit(workflow, inputs).await;
        let ended = self.ended(&submitted).await;
        ended.unwrap_or_else(|failure| {
            panic!("{workflow}: {failure}; logs in {}", self.rig.dir.display())
        })
    }

    /// No run has left anything in the scratch directory. A run is told to be over before its folder is gone, so
    /// that this waits a little.
    pub(super) async fn nothing_is_left(&self) {
        let scratch = self.rig.dir.join("scratch");
        let left = || -> Vec<PathBuf> {
            let locks = |path: &PathBuf| path.extension().is_none_or(|end| end != "lock");
            files_below(&scratch).into_iter().filter(locks).collect()
        };
        let end = tokio::time::Instant::now() + Duration::from_secs(10);
        while !left().is_empty() && tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        assert_eq!(left(), Vec::<PathBuf>::new());
    }

    /// All items of the catalog.
    pub(super) async fn items(&self) -> Vec<Value> {
        let pool = PgPool::connect(&self.catalog_url).await.unwrap();
        let found: Value = sqlx::query_scalar("select pgstac.search('{\"limit\": 1000}'::jsonb)")
            .fetch_one(&pool)
            .await
            .unwrap();
        found["features"].as_array().unwrap().clone()
    }

    pub(super) async fn collections(&self) -> Vec<Value> {
        let pool = PgPool::connect(&self.catalog_url).await.unwrap();
        sqlx::query_scalar("select content from pgstac.collections")
            .fetch_all(&pool)
            .await
            .unwrap()
    }
}

/// A file of real data, where it lies.
pub(super) fn real(name: &str) -> PathBuf {
    let data = std::env::var("STRATA_GEO_DATA").expect("STRATA_GEO_DATA, which ./strata test sets");
    Path::new(&data).join(name)
}

/// A role of its own: roles belong to all databases of a server.
fn catalog_url(database_url: &str, name: &str) -> String {
    let (scheme, rest) = database_url.split_once("://").unwrap();
    let (_, place) = rest.split_once('@').unwrap();
    let database = place.rsplit('/').next().unwrap();
    let unique: String = database.chars().skip(2).take(32).collect();
    format!("{scheme}://c_{unique}_{name}:secret@{place}")
}

/// By the command that people use. One at a time: pgSTAC makes roles of the whole server.
fn install(rig: &Rig, catalog_url: &str) {
    let sql =
        std::env::var("STRATA_PGSTAC_SQL").expect("STRATA_PGSTAC_SQL, which ./strata test sets");
    let lock = File::create(target().join("test-services/pgstac.lock")).unwrap();
    lock.lock().unwrap();
    let migrated = Command::new(target().join("debug/strata"))
        .args(["migrate", "--pgstac-sql", &sql, "--data-dir"])
        .arg(&rig.dir)
        .env("STRATA_DATABASE_URL", &rig.database_url)
        .env("STRATA_NATS_URL", &rig.nats_url)
        .env("STRATA_CATALOG_URL", catalog_url)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&migrated.stderr);
    assert!(migrated.status.success(), "{said}");
}
