//! A log, an orchestrator, read models, and any number of senders.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use commands::secrets::Secrets;
use commands::submit::Submitted;
use commands::write::{Writer, fresh_id};
use domain::callback::{Backoff, BreakerPolicy, Settlement};
use domain::request::CallbackRef;
use futures_util::future::BoxFuture;
use projections::callbacks::guard::Rules;
use projections::callbacks::{self, Ledger, Options};
use projections::read::{self, Callback};
use serde_json::Map;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::system::rig::{Process, Rig, order, target};

pub(super) const ORG: &str = "acme";
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

pub(super) struct Stage {
    pub(super) rig: Rig,
    _orchestrator: Process,
    running: Vec<(CancellationToken, JoinHandle<()>)>,
}

/// Tests write to the log as the binary does.
struct ToLog(Writer);

impl Ledger for ToLog {
    fn settle(&self, settled: Vec<Settlement>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let recorded = self.0.record_callbacks(settled).await;
            recorded.map_err(|error| error.to_string())
        })
    }
}

impl Stage {
    /// Without senders yet.
    pub(super) async fn new(name: &str) -> Self {
        let rig = Rig::new(name).await;
        let orchestrator = rig.orchestrator(&[]);
        let mut stage = Self {
            rig,
            _orchestrator: orchestrator,
            running: Vec::new(),
        };
        stage.project();
        stage
    }

    /// Keeps the read models.
    pub(super) fn project(&mut self) {
        let (pool, bus) = (self.rig.pool.clone(), self.rig.bus().clone());
        let options = projections::Options::new(pool, bus, fresh_id());
        let stop = CancellationToken::new();
        let task = tokio::spawn(projections::run(options, stop.clone()));
        self.running.push((stop, task));
    }

    /// Seconds become milliseconds, and this machine may be called.
    pub(super) fn options(&self) -> Options {
        let ledger = Arc::new(ToLog(self.rig.writer.clone()));
        let base = "https://strata.example".to_owned();
        let (pool, bus) = (self.rig.pool.clone(), self.rig.bus().clone());
        Options {
            rules: Rules::parse("127.0.0.1").unwrap(),
            backoff: Backoff {
                first: Duration::from_millis(50),
                max: Duration::from_secs(1),
            },
            breaker: BreakerPolicy {
                failures_max: 5,
                open_first: Duration::from_millis(50),
                open_max: Duration::from_millis(400),
            },
            slack: Duration::from_secs(5),
            grace: Duration::from_secs(2),
            ..Options::new(pool, bus, fresh_id(), ledger, base)
        }
    }

    pub(super) fn send(&mut self, options: Options) {
        let stop = CancellationToken::new();
        let task = tokio::spawn(callbacks::run(options, stop.clone()));
        self.running.push((stop, task));
    }

    /// Ends projectors and senders in order.
    pub(super) async fn stop(&mut self) {
        for (stop, _) in &self.running {
            stop.cancel();
        }
        for (_, task) in self.running.drain(..) {
            task.await.unwrap();
        }
    }

    pub(super) async fn submit(&self, workflow: &str, callbacks: Vec<CallbackRef>) -> Submitted {
        let order = commands::submit::Order {
            callbacks,
            ..order(workflow, Map::new())
        };
        self.rig.writer.submit(order).await.unwrap()
    }

    pub(super) async fn callbacks_of(&self, submitted: &Submitted) -> Vec<Callback> {
        let jobs = [submitted.job_id.to_string()];
        read::callbacks_of_jobs(&self.rig.pool, &jobs)
            .await
            .unwrap()
    }

    /// Waits until all callbacks of a job have this status.
    pub(super) async fn all_are(&self, submitted: &Submitted, status: &str) -> Vec<Callback> {
        let there = async || {
            let found = self.callbacks_of(submitted).await;
            !found.is_empty() && found.iter().all(|c| c.status == status)
        };
        let what = format!("the callbacks are {status}");
        self.rig.eventually(&what, DEADLINE, there).await;
        self.callbacks_of(submitted).await
    }

    pub(super) fn secrets(&self) -> Secrets {
        Secrets::new(self.rig.pool.clone())
    }
}

/// A Python with the packages that tests compare with; `./strata test` makes it.
pub(crate) fn python() -> PathBuf {
    let given = std::env::var_os("STRATA_TEST_PYTHON").map(PathBuf::from);
    let python = given.unwrap_or_else(|| target().join("tools/python/bin/python"));
    assert!(
        python.exists(),
        "{} is not there: run `./strata test`, which installs it, or set STRATA_TEST_PYTHON to a Python with \
         the package standardwebhooks",
        python.display()
    );
    python
}

/// Runs a script of `tests/python` and gives what it printed, as JSON.
pub(crate) async fn run_python(script: &str, arguments: &[&str]) -> serde_json::Value {
    let script = crate::repo::root().join("tests/python").join(script);
    let output = tokio::process::Command::new(python())
        .arg(script)
        .args(arguments)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}
