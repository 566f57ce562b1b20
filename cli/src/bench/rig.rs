//! A private stack for one measurement: PostgreSQL, NATS and the roles, each in its own process.
//!
//! Nothing is tuned for the bench: a commit outlives a crash of the machine, and the roles are this very
//! binary with its defaults. Whatever happens, what was started is stopped and its directory removed.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use commands::register::Registered;
use commands::submit::{Order, Submitted};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sqlx::PgPool;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::face::Api;
use super::meter::{megabytes, peak_bytes};
use super::{look, shapes};
use crate::exit::{Exit, Stop};
use crate::logging::LogArgs;
use crate::roles::args::StackArgs;
use crate::roles::budget::Budget;
use crate::roles::catalog::{self, CatalogArgs};
use crate::roles::local_key::ORG;
use crate::roles::stack::{Stack, Write};
use crate::services::{Context, DATABASE_URL, NATS_URL, Options, Services};

/// In the order in which they are stopped.
const ROLES: [&str; 3] = ["worker", "orchestrator", "projector"];
/// How long a role may take to end before it is ended.
const ROLE_END: Duration = Duration::from_secs(15);
/// How long the first job may take, with the start of all roles.
const READY: Duration = Duration::from_secs(60);
/// Variables that would lead the roles to another stack.
const OTHER_STACKS: [&str; 8] = [
    DATABASE_URL,
    NATS_URL,
    "STRATA_PREFIX",
    "STRATA_STORE",
    "STRATA_BRONZE",
    "STRATA_SILVER",
    "STRATA_MOUNT",
    "STRATA_CATALOG_URL",
];
const BUDGET: Budget = Budget {
    appender: 1,
    readers: 4,
    projector: 0,
};
/// Connections for looking on while something is measured.
const LOOKERS: u32 = 4;

/// Which roles run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Roles {
    None,
    All,
    /// And the API, through which work is submitted.
    WithApi,
    /// And a catalog, which needs PostGIS and pgSTAC.
    WithCatalog,
}

/// A stack that runs.
pub(super) struct Rig {
    pub(super) write: Write,
    pub(super) stack: Stack,
    /// For looking on.
    pub(super) pool: PgPool,
    roles: Vec<(&'static str, Child)>,
    api: Option<Api>,
    pub(super) dir: PathBuf,
}

/// Runs `work` on a fresh stack, with or without roles, and clears everything away after it.
pub(super) async fn with<T>(
    stop: &CancellationToken,
    roles: Roles,
    work: impl AsyncFnOnce(&Rig) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let dir = std::env::temp_dir().join(format!("strata-bench-{}", std::process::id()));
    let ended = on_services(&dir, stop, roles, work).await;
    if let Err(error) = std::fs::remove_dir_all(&dir)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "{} was not removed", dir.display());
    }
    ended
}

async fn on_services<T>(
    dir: &Path,
    stop: &CancellationToken,
    roles: Roles,
    work: impl AsyncFnOnce(&Rig) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let services = Services::start(&Options::new(dir), stop).await?;
    let ended = match Rig::start(dir, &services, roles).await {
        Ok(mut rig) => {
            let ended = tokio::select! {
                () = stop.cancelled() => Err(Stop::with(Exit::Interrupted, "interrupted", "")),
                error = services.failure() => Err(error),
                ended = rig.run(roles, work) => ended,
            };
            rig.stop_roles().await;
            rig.write.stop().await;
            ended
        }
        Err(error) => Err(error),
    };
    services.stop().await;
    ended
}

impl Rig {
    async fn start(dir: &Path, services: &Services, roles: Roles) -> anyhow::Result<Self> {
        let args = StackArgs {
            data_dir: dir.to_owned(),
            prefix: "strata".to_owned(),
            ack_wait: bus::ACK_WAIT,
            log: LogArgs::default(),
        };
        let stack = Stack::new(services.context(), &args)?;
        commands::migrate::run(&stack.database(1)?.options).await?;
        if roles == Roles::WithCatalog {
            install_catalog(dir, services, &stack).await?;
        }
        let bus = stack.bus("bench").await?;
        let write = stack.write(&BUDGET, Some(bus)).await?;
        let pool = stack.pool(LOOKERS).await?;
        let mut rig = Self {
            write,
            stack,
            pool,
            roles: Vec::new(),
            api: None,
            dir: dir.to_owned(),
        };
        if roles != Roles::None {
            for role in ROLES {
                let child = start_role(dir, role, &[])?;
                rig.roles.push((role, child));
            }
        }
        if roles == Roles::WithApi {
            // Free now, and nobody else on this machine is after it.
            let free = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
            let listen = free.to_string();
            let child = start_role(dir, "api", &["--listen", &listen, "--rate-limit", "0"])?;
            rig.roles.insert(0, ("api", child));
            rig.api = Some(Api::reach(format!("http://{listen}"), &rig.pool).await?);
        }
        Ok(rig)
    }

    /// Waits until the roles do their work, and lets `work` measure.
    async fn run<T>(
        &self,
        roles: Roles,
        work: impl AsyncFnOnce(&Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        if roles != Roles::None {
            self.register(&shapes::one("bench_ready")).await?;
            self.submit("bench_ready").await?;
            self.all_done(READY).await?;
        }
        work(self).await
    }

    /// Registers a workflow that only this bench knows.
    pub(super) async fn register(&self, workflow: &Value) -> anyhow::Result<()> {
        let file = serde_json::to_vec_pretty(workflow)?;
        match self.write.writer.register_workflow(&file).await? {
            Registered::New { .. } | Registered::Known { .. } => Ok(()),
            other => anyhow::bail!("the workflow of the bench is refused: {other:?}"),
        }
    }

    /// Submits as anybody would.
    pub(super) async fn submit(&self, workflow: &str) -> anyhow::Result<Submitted> {
        match &self.api {
            Some(api) => api.submit(workflow).await,
            None => Ok(self.write.writer.submit(plain_order(workflow)).await?),
        }
    }

    /// The API, if it runs.
    pub(super) fn api(&self) -> anyhow::Result<&Api> {
        self.api.as_ref().context("this bench needs the API")
    }

    /// The process of a role.
    pub(super) fn pid(&self, role: &str) -> anyhow::Result<u32> {
        let found = self.roles.iter().find(|(name, _)| *name == role);
        let pid = found.and_then(|(_, child)| child.id());
        pid.with_context(|| format!("the {role} does not run"))
    }

    /// Waits until no job is open and the read models show it.
    pub(super) async fn all_done(&self, deadline: Duration) -> anyhow::Result<()> {
        let waited = async {
            while look::is_any_open(&self.pool).await? {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let head = projections::read::head(&self.pool).await?;
            projections::read::wait_for(&self.pool, head, deadline).await?;
            Ok(())
        };
        match tokio::time::timeout(deadline, waited).await {
            Ok(done) => done,
            Err(_) => Err(self.stuck(deadline).await),
        }
    }

    /// Says what stands still.
    pub(super) async fn stuck(&self, deadline: Duration) -> anyhow::Error {
        let state = match look::state(&self.pool).await {
            Ok(state) => state,
            Err(error) => error.to_string(),
        };
        let mut message = format!("not done after {} s: {state}", deadline.as_secs());
        for (role, _) in &self.roles {
            let log = std::fs::read_to_string(log_of(&self.dir, role)).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines.get(lines.len().saturating_sub(3)..);
            message.push_str(&format!(
                "\n{role}: {}",
                last.unwrap_or_default().join("\n")
            ));
        }
        Stop::failed(message, "")
    }

    /// The most memory that each role has had, in megabytes.
    pub(super) fn memory(&self) -> anyhow::Result<BTreeMap<&'static str, f64>> {
        let mut memory = BTreeMap::new();
        for (role, child) in &self.roles {
            let pid = child
                .id()
                .with_context(|| format!("the {role} has ended"))?;
            memory.insert(*role, megabytes(peak_bytes(pid)?));
        }
        memory.insert("bench", megabytes(peak_bytes(std::process::id())?));
        Ok(memory)
    }

    async fn stop_roles(&mut self) {
        for (role, child) in &mut self.roles {
            let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
            if let Some(pid) = pid.and_then(Pid::from_raw) {
                // One that is gone already is waited for all the same.
                let _ = kill_process(pid, Signal::TERM);
            }
            if tokio::time::timeout(ROLE_END, child.wait()).await.is_err() {
                tracing::warn!("the {role} does not end; it is ended");
                let _ = child.kill().await;
            }
        }
    }
}

/// Where the worker will look for it.
async fn install_catalog(dir: &Path, services: &Services, stack: &Stack) -> anyhow::Result<()> {
    let sql = std::env::var_os("STRATA_PGSTAC_SQL").map(PathBuf::from);
    let url = catalog::for_up(stack, &CatalogArgs { pgstac_sql: sql }, None).await?;
    let catalog_url = Some(url.ok_or_else(|| {
        Stop::failed(
            "this bench needs PostGIS and pgSTAC",
            "./strata bench, which brings both",
        )
    })?);
    let context = Context {
        catalog_url,
        ..services.context()
    };
    context.write(dir)
}

fn start_role(dir: &Path, role: &str, args: &[&str]) -> anyhow::Result<Child> {
    let log = File::create(log_of(dir, role))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(role).args(args).arg("--data-dir").arg(dir);
    for name in OTHER_STACKS {
        command.env_remove(name);
    }
    // The receiver of the bench is on this machine.
    command.env("STRATA_CALLBACK_ALLOW", "127.0.0.1");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    // Ctrl-C reaches us alone: we stop the roles in order. If we die, they do.
    command.process_group(0).kill_on_drop(true);
    command
        .spawn()
        .with_context(|| format!("cannot start the {role}"))
}

fn log_of(dir: &Path, role: &str) -> PathBuf {
    dir.join(format!("{role}.log"))
}

/// A workflow with its defaults.
pub(super) fn plain_order(workflow: &str) -> Order {
    Order {
        org_id: ORG.to_owned(),
        actor: "bench".to_owned(),
        platform_id: "strata".to_owned(),
        refs: domain::platform::Refs::default(),
        workflow_id: workflow.to_owned(),
        workflow_version: None,
        inputs: serde_json::Map::new(),
        priority: None,
        callbacks: Vec::new(),
        retry_of: None,
        forked_from: None,
        idempotency_key: None,
        trace: None,
    }
}
