//! One test's own database and subject prefix on the shared services, and the processes it starts.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bus::{Bus, Subjects};
use cli::services::{Durability, Options, Services, shared};
use commands::appender::Appender;
use commands::clock::Clock;
use commands::definitions::Definitions;
use commands::log::{Connect, Log, PostgresLog};
use commands::submit::{Order, Submitted};
use commands::write::Writer;
use domain::id::JobId;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value};
use sqlx::{ConnectOptions, PgPool, Row};
use tokio_util::sync::CancellationToken;

use super::workflows;

/// What tests use for times that are minutes in production.
pub(crate) const ORCHESTRATOR: &[&str] = &[
    "--beat",
    "300ms",
    "--stale",
    "2s",
    "--scan",
    "500ms",
    "--sweep",
    "500ms",
    "--run-silence",
    "3s",
    "--ack-wait",
    "3s",
];
pub(crate) const WORKER: &[&str] = &["--heartbeat", "300ms", "--ack-wait", "3s"];

/// A database, a prefix, and a folder.
pub(crate) struct Rig {
    pub(crate) database_url: String,
    pub(crate) nats_url: String,
    pub(crate) prefix: String,
    pub(crate) dir: PathBuf,
    pub(crate) pool: PgPool,
    pub(crate) writer: Writer,
    /// Services of its own, for tests that break them.
    services: Option<(Services, PathBuf)>,
}

/// A process of ours; killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) log: PathBuf,
}

impl Rig {
    /// On the services that all tests share.
    pub(crate) async fn new(name: &str) -> Self {
        let context = shared(&target().join("test-services"), Durability::Process).await;
        let context = context.expect("the shared services run");
        // Names are cut at 63 bytes: what makes it unique comes first.
        let database = format!("t_{}_{name}", fresh());
        let options: sqlx::postgres::PgConnectOptions = context.database_url.parse().unwrap();
        let mut admin = options.clone().connect().await.unwrap();
        // A fresh name of our own making.
        let create = format!("create database {database}");
        sqlx::query(sqlx::AssertSqlSafe(create))
            .execute(&mut admin)
            .await
            .unwrap();
        let database_url = options.database(&database).to_url_lossy().to_string();
        Self::on(name, database_url, context.nats_url, None).await
    }

    /// On services of its own.
    pub(crate) async fn private(name: &str) -> Self {
        let dir = folder(name).join(format!("services-{}", fresh()));
        let options = Options {
            durability: Durability::Process,
            ..Options::new(&dir)
        };
        let services = Services::start(&options, &CancellationToken::new()).await;
        let services = services.expect("private services start");
        let (database, nats) = (
            services.database_url().to_owned(),
            services.nats_url().to_owned(),
        );
        Self::on(name, database, nats, Some((services, dir))).await
    }

    async fn on(
        name: &str,
        database: String,
        nats_url: String,
        services: Option<(Services, PathBuf)>,
    ) -> Self {
        let connect = Connect::parse(&database, 4).unwrap();
        commands::migrate::run(&connect.options).await.unwrap();
        let prefix = format!("t-{}", fresh());
        let subjects = Subjects::new(&prefix).unwrap();
        let bus = Bus::connect(&nats_url, subjects, "test").await.unwrap();
        let log = PostgresLog::connect(&connect).await.unwrap();
        let pool = log.pool().clone();
        let log: Arc<dyn Log> = Arc::new(log);
        let never = CancellationToken::new();
        let (appender, _) = Appender::start(Arc::clone(&log), never, |_| {});
        let writer = Writer {
            definitions: Arc::new(Definitions::new(Arc::clone(&log))),
            clock: Clock::of(&*log).await.unwrap(),
            log,
            appender,
            bus: Some(bus),
        };
        for text in workflows::ALL {
            let done = writer.register_workflow(text.as_bytes()).await.unwrap();
            let new = matches!(done, commands::register::Registered::New { .. });
            assert!(new, "{done:?}");
        }
        Self {
            database_url: database,
            nats_url,
            prefix,
            dir: folder(name),
            pool,
            writer,
            services,
        }
    }

    /// Where its own services keep their data.
    pub(crate) fn services_dir(&self) -> PathBuf {
        self.services.as_ref().unwrap().1.clone()
    }

    /// Ends its own services and removes what they kept.
    pub(crate) async fn stop_services(self) {
        let (services, dir) = self.services.unwrap();
        services.stop().await;
        std::fs::remove_dir_all(dir).unwrap();
    }

    pub(crate) fn bus(&self) -> &Bus {
        self.writer.bus.as_ref().unwrap()
    }

    pub(crate) fn orchestrator(&self, env: &[(&str, &str)]) -> Process {
        self.spawn("orchestrator", ORCHESTRATOR, env)
    }

    /// A worker for both queues with so many places in each.
    pub(crate) fn worker(&self, concurrency: u32, env: &[(&str, &str)]) -> Process {
        let concurrency = concurrency.to_string();
        let args = [WORKER, &["--concurrency", &concurrency]].concat();
        self.spawn("worker", &args, env)
    }

    pub(crate) fn projector(&self) -> Process {
        self.spawn("projector", &[], &[])
    }

    pub(crate) fn spawn(&self, role: &str, args: &[&str], env: &[(&str, &str)]) -> Process {
        let program = target().join("debug/strata");
        assert!(program.exists(), "build it first: cargo build -p cli");
        let log = self.dir.join(format!("{role}-{}.log", fresh()));
        let child = Command::new(program)
            .arg(role)
            .args(args)
            .args(["--prefix", &self.prefix, "--log-format", "human"])
            .arg("--data-dir")
            .arg(&self.dir)
            .env("STRATA_DATABASE_URL", &self.database_url)
            .env("STRATA_NATS_URL", &self.nats_url)
            .env("RUST_BACKTRACE", "0")
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Process { child, log }
    }

    pub(crate) async fn submit(&self, workflow: &str, inputs: Value) -> Submitted {
        self.try_submit(workflow, inputs).await.unwrap()
    }

    /// Work on an asset with this name.
    pub(crate) async fn submit_for(&self, asset: &str, workflow: &str) -> Submitted {
        // Whoever starts first does it, and that may be later.
        self.writer.register_platforms().await.unwrap();
        let refs = serde_json::json!({ "name": asset });
        let order = Order {
            refs: serde_json::from_value(refs).unwrap(),
            ..order(workflow, Map::new())
        };
        self.writer.submit(order).await.unwrap()
    }

    /// Work that belongs to a trace.
    pub(crate) async fn submit_traced(&self, workflow: &str, trace: &str) -> Submitted {
        let order = Order {
            trace: Some(trace.to_owned()),
            ..order(workflow, Map::new())
        };
        self.writer.submit(order).await.unwrap()
    }

    pub(crate) async fn try_submit(
        &self,
        workflow: &str,
        inputs: Value,
    ) -> Result<Submitted, commands::submit::SubmitError> {
        let inputs = serde_json::from_value(inputs).unwrap();
        self.writer.submit(order(workflow, inputs)).await
    }

    /// The last event of a job, if it ends it: `job_completed`, `job_failed` or `job_cancelled`.
    pub(crate) async fn end_of(&self, job: JobId) -> Option<String> {
        let row = sqlx::query(
            "select type from dagapp.events where stream_id = $1
             and type in ('job_completed', 'job_failed', 'job_cancelled')",
        )
        .bind(format!("job:{job}"))
        .fetch_optional(&self.pool)
        .await
        .unwrap();
        row.map(|row| row.get("type"))
    }

    /// Waits until a signed checkpoint covers the whole log.
    pub(crate) async fn all_signed(&self, deadline: Duration) {
        let signed = async || {
            let behind = "select h.pos - coalesce(max(c.size), 0) from dagapp.log_head h
                          left join dagapp.log_checkpoints c on true group by h.pos";
            self.count(behind).await == 0
        };
        self.eventually("all is signed", deadline, signed).await;
    }

    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        let row = sqlx::query(sql).fetch_one(&self.pool).await;
        row.map_or(-1, |row| row.get(0))
    }

    /// How often a type of event is in the log.
    pub(crate) async fn events(&self, kind: &str) -> i64 {
        sqlx::query("select count(*) from dagapp.events where type = $1")
            .bind(kind)
            .fetch_one(&self.pool)
            .await
            .map_or(-1, |row| row.get(0))
    }

    /// Waits until no job is open.
    pub(crate) async fn all_ended(&self, deadline: Duration) {
        let open = async || self.count("select count(*) from dagapp.open_jobs").await == 0;
        self.eventually("all jobs end", deadline, open).await;
    }

    /// Waits for a condition; what the processes said is in the folder named by the failure.
    pub(crate) async fn eventually(
        &self,
        what: &str,
        deadline: Duration,
        condition: impl AsyncFn() -> bool,
    ) {
        let end = tokio::time::Instant::now() + deadline;
        while !condition().await {
            if tokio::time::Instant::now() >= end {
                let open = sqlx::query(
                    "select job_id, owner_id::text, epoch, claims from dagapp.open_jobs limit 5",
                )
                .fetch_all(&self.pool)
                .await
                .unwrap_or_default();
                let open: Vec<(String, Option<String>, i64, i32)> = open
                    .iter()
                    .map(|r| (r.get(0), r.get(1), r.get(2), r.get(3)))
                    .collect();
                panic!(
                    "not in time: {what}; open: {open:?}; logs in {}",
                    self.dir.display()
                );
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    }
}

pub(crate) fn order(workflow: &str, inputs: Map<String, Value>) -> Order {
    Order {
        org_id: "acme".to_owned(),
        actor: "test".to_owned(),
        platform_id: "strata".to_owned(),
        refs: domain::platform::Refs::default(),
        workflow_id: workflow.to_owned(),
        workflow_version: None,
        inputs,
        priority: None,
        callbacks: Vec::new(),
        retry_of: None,
        forked_from: None,
        idempotency_key: None,
        trace: None,
    }
}

impl Process {
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        // It may have ended by itself.
        let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn says(&self, text: &str) -> bool {
        std::fs::read_to_string(&self.log).is_ok_and(|log| log.contains(text))
    }

    /// The word that comes after a text in what it says.
    pub(crate) fn after(&self, text: &str) -> Option<String> {
        let log = std::fs::read_to_string(&self.log).ok()?;
        let (_, rest) = log.split_once(text)?;
        let (word, _) = rest.split_once(char::is_whitespace)?;
        Some(word.to_owned())
    }

    /// Ends it in order and gives the exit code.
    pub(crate) async fn terminate(mut self, deadline: Duration) -> Option<i32> {
        self.signal(Signal::TERM);
        let end = tokio::time::Instant::now() + deadline;
        while tokio::time::Instant::now() < end {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.code();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("system-{name}"));
    let _ = std::fs::create_dir_all(&dir);
    dir
}

/// The folder of the build that this test belongs to.
pub(crate) fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(3).unwrap().to_owned()
}

/// A part of a name that no other test has.
fn fresh() -> String {
    commands::write::fresh_id().simple().to_string()
}
