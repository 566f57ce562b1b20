//! A rig with a catalog, tiers and a worker that has GDAL.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use commands::submit::Submitted;
use serde_json::{Value, json};
use sqlx::{PgPool, Row as _};

use crate::system::rig::{Process, Rig, target};

pub(super) const DEADLINE: Duration = Duration::from_secs(120);

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
    /// With an orchestrator and a projector; workers come later.
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
        let roles = vec![rig.orchestrator(&[]), rig.projector()];
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

    /// Files that are wrong in one way each, and good ones.
    pub(super) fn make_files(&self) -> PathBuf {
        let folder = self.uploads();
        python("make_files.py", &[folder.to_str().unwrap()], None);
        folder
    }

    /// A file of real data.
    pub(super) fn upload_real(&self, names: &[&str]) {
        let data =
            std::env::var("STRATA_GEO_DATA").expect("STRATA_GEO_DATA, which ./strata test sets");
        for name in names {
            std::fs::copy(Path::new(&data).join(name), self.uploads().join(name)).unwrap();
        }
    }

    /// Waits for the end of a job; its result, or its failure.
    pub(super) async fn ended(&self, submitted: &Submitted) -> Result<Value, Value> {
        let job = submitted.job_id;
        let done = async || self.rig.end_of(job).await.is_some();
        self.rig.eventually("the job ends", DEADLINE, done).await;
        let row = sqlx::query(
            "select type, payload from dagapp.events where stream_id = $1
             and type in ('job_completed', 'job_failed', 'job_cancelled')",
        )
        .bind(format!("job:{job}"))
        .fetch_one(&self.rig.pool)
        .await
        .unwrap();
        let payload: Value = serde_json::from_slice(row.get::<&[u8], _>("payload")).unwrap();
        match row.get::<&str, _>("type") {
            "job_completed" => Ok(payload["result"].clone()),
            _ => Err(payload["failure"].clone()),
        }
    }

    /// Runs a workflow to its result.
    pub(super) async fn run(&self, workflow: &str, inputs: Value) -> Value {
        let submitted = self.rig.submit(workflow, inputs).await;
        let ended = self.ended(&submitted).await;
        ended.unwrap_or_else(|failure| {
            panic!("{workflow}: {failure}; logs in {}", self.rig.dir.display())
        })
    }

    /// No run has left anything in the scratch directory.
    pub(super) fn nothing_is_left(&self) {
        let scratch = self.rig.dir.join("scratch");
        let left: Vec<PathBuf> = files_below(&scratch)
            .into_iter()
            .filter(|path| path.extension().is_none_or(|end| end != "lock"))
            .collect();
        assert_eq!(left, Vec::<PathBuf>::new());
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

/// Files below a folder, however deep.
pub(super) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// What a script of `tests/python` prints, run with the packages that judge rasters and catalogs.
pub(super) fn python(script: &str, args: &[&str], input: Option<&Value>) -> String {
    let program = std::env::var("STRATA_TEST_GEO_PYTHON")
        .expect("STRATA_TEST_GEO_PYTHON, which ./strata test sets");
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("python")
        .join(script);
    let mut child = Command::new(program)
        .args(["-W", "ignore"])
        .arg(&script)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = input.unwrap_or(&json!(null)).to_string();
    std::io::Write::write_all(&mut stdin, text.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaint}", script.display());
    String::from_utf8(output.stdout).unwrap()
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
