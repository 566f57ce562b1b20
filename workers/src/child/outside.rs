//! The worker's side: starts a child, hears it, and ends it.

use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::failure::{Failure, FailureClass};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Interval, interval, timeout};

use super::{Limits, Op, Order, Word};
use crate::handler::{Context, Level};

/// How long a child may take to end by itself.
const END: Duration = Duration::from_millis(1_500);
/// How often its files are counted.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What is kept of what a child says on stderr.
const STDERR_BYTES_MAX: usize = 4 * 1024;
/// Variables that GDAL and PROJ need to find their files, and nothing else.
const PASSED_ON: [&str; 5] = [
    "PATH",
    "GDAL_DATA",
    "PROJ_LIB",
    "PROJ_DATA",
    "LD_LIBRARY_PATH",
];

/// Starts children.
#[derive(Debug, Clone)]
pub struct Children {
    /// The program that serves as child, with the arguments that make it one.
    pub program: PathBuf,
    pub args: Vec<String>,
    pub limits: Limits,
}

/// A conversation with a child; it ends when this is dropped.
pub struct Talk {
    child: Child,
    orders: ChildStdin,
    words: Lines<BufReader<ChildStdout>>,
    complaints: Arc<Mutex<Vec<u8>>>,
    done: Option<Value>,
    /// Where its files are, and how many bytes they may have.
    scratch: PathBuf,
    scratch_bytes_max: u64,
    looks: Interval,
}

impl Children {
    /// Does something that needs no conversation.
    pub async fn run<T: DeserializeOwned>(&self, ctx: &Context, op: Op) -> Result<T, Failure> {
        let mut talk = self.start(ctx, op).await?;
        match talk.next(ctx).await? {
            None => talk.result(),
            Some(_) => Err(nonsense("it asks something")),
        }
    }

    /// Starts a child, which works in the scratch directory of the run.
    pub async fn start(&self, ctx: &Context, op: Op) -> Result<Talk, Failure> {
        let mut command = Command::new(&self.program);
        let passed_on = PASSED_ON
            .iter()
            .filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
        command
            .args(&self.args)
            .current_dir(ctx.scratch()?)
            .env_clear()
            .envs(passed_on)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| not_started(&error))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(orders), Some(words), Some(complaints)) = pipes else {
            return Err(nonsense("it has no pipes"));
        };
        let mut talk = Talk {
            child,
            orders,
            words: BufReader::new(words).lines(),
            complaints: hear(complaints),
            done: None,
            scratch: ctx.scratch()?.to_owned(),
            scratch_bytes_max: self.limits.scratch_mb.saturating_mul(1024 * 1024),
            looks: interval(LOOK_EVERY),
        };
        let limits = self.limits;
        talk.order(&Order::Do { op, limits }).await?;
        Ok(talk)
    }
}

impl Talk {
    /// What the child asks next; nothing when it is done.
    pub async fn next(&mut self, ctx: &Context) -> Result<Option<Value>, Failure> {
        loop {
            let line = tokio::select! {
                biased;
                () = ctx.cancel().cancelled() => return Err(self.end(ctx).await),
                line = self.words.next_line() => line,
                _ = self.looks.tick() => {
                    self.keep_quota().await?;
                    continue;
                }
            };
            let Ok(Some(line)) = line else {
                return Err(self.lost().await);
            };
            match serde_json::from_str(&line) {
                Ok(Word::Progress(fraction)) => {
                    // Between 0 and 100.
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "clamped"
                    )]
                    let percent = (fraction.clamp(0.0, 1.0) * 100.0) as u64;
                    ctx.progress(percent, 100, "percent");
                }
                Ok(Word::Ask(question)) => return Ok(Some(question)),
                Ok(Word::Done(result)) => {
                    self.done = Some(result);
                    return Ok(None);
                }
                Ok(Word::Failed(failure)) => {
                    self.complain(ctx);
                    return Err(failure);
                }
                Err(error) => return Err(nonsense(&error.to_string())),
            }
        }
    }

    /// Answers what was asked.
    pub async fn answer(&mut self, answer: &impl Serialize) -> Result<(), Failure> {
        let answer = serde_json::to_value(answer).map_err(|error| nonsense(&error.to_string()))?;
        self.order(&Order::Answer(answer)).await
    }

    /// What it gave back.
    pub fn result<T: DeserializeOwned>(self) -> Result<T, Failure> {
        let done = self.done.ok_or_else(|| nonsense("it gave nothing back"))?;
        serde_json::from_value(done).map_err(|error| nonsense(&error.to_string()))
    }

    async fn order(&mut self, order: &Order) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(order).map_err(|error| nonsense(&error.to_string()))?;
        line.push(b'\n');
        if self.orders.write_all(&line).await.is_ok() && self.orders.flush().await.is_ok() {
            return Ok(());
        }
        Err(self.lost().await)
    }

    /// The kernel limits each file; this limits all of them together.
    async fn keep_quota(&mut self) -> Result<(), Failure> {
        let scratch = self.scratch.clone();
        let used = tokio::task::spawn_blocking(move || bytes_below(&scratch)).await;
        if used.is_ok_and(|used| used <= self.scratch_bytes_max) {
            return Ok(());
        }
        let _ = self.child.kill().await;
        Err(over_quota())
    }

    /// Asks it to end, and then does not ask any more.
    async fn end(&mut self, ctx: &Context) -> Failure {
        if let Ok(line) = serde_json::to_string(&Order::End) {
            let _ = self.orders.write_all(format!("{line}\n").as_bytes()).await;
        }
        if timeout(END, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
        let cancelled = || Failure::new(FailureClass::Cancelled, "cancelled", "the run should end");
        ctx.check().err().unwrap_or_else(cancelled)
    }

    /// Why a child is gone that did not say so.
    async fn lost(&mut self) -> Failure {
        let status = timeout(END, self.child.wait()).await;
        let _ = self.child.kill().await;
        let said = self.complaint();
        match status {
            Ok(Ok(status)) => gone(status, &said),
            _ => nonsense("it closed its mouth and stayed"),
        }
    }

    fn complaint(&self) -> String {
        let bytes = self
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    fn complain(&self, ctx: &Context) {
        for line in self.complaint().lines() {
            ctx.log().line(Level::Warn, line);
        }
    }
}

/// Bytes on disk of all files of a directory. What vanishes meanwhile counts nothing.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes_below(&entry.path()),
        Ok(meta) => meta.blocks().saturating_mul(512),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Keeps the beginning of what a child says on stderr, and reads the rest so that it is not held up.
fn hear(mut stderr: ChildStderr) -> Arc<Mutex<Vec<u8>>> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&kept);
    tokio::spawn(async move {
        let mut piece = vec![0; 1024];
        while let Ok(read) = stderr.read(&mut piece).await {
            let Some(said) = piece.get(..read).filter(|said| !said.is_empty()) else {
                return;
            };
            let mut keeps = keeps.lock().unwrap_or_else(PoisonError::into_inner);
            let room = STDERR_BYTES_MAX.saturating_sub(keeps.len());
            keeps.extend(said.iter().take(room));
        }
    });
    kept
}

fn gone(status: ExitStatus, said: &str) -> Failure {
    let said = if said.is_empty() {
        "it said nothing"
    } else {
        said
    };
    match status.signal() {
        // SIGXFSZ
        Some(25) => over_quota(),
        Some(9) => Failure::new(
            FailureClass::Transient,
            "native_killed",
            "the native process was killed, perhaps because the machine has too little memory",
        ),
        Some(signal) => Failure::new(
            FailureClass::Transient,
            "native_crashed",
            &format!("the native process ended with signal {signal}: {said}"),
        ),
        None => nonsense(&format!("it ended with {status}: {said}")),
    }
}

fn over_quota() -> Failure {
    Failure::new(
        FailureClass::Permanent,
        "scratch_quota",
        "the task needs more room for its files than it may have; see --scratch-mb of the worker",
    )
}

fn not_started(error: &std::io::Error) -> Failure {
    let message = format!("the native process could not be started: {error}");
    Failure::new(FailureClass::Transient, "native_not_started", &message)
}

fn nonsense(what: &str) -> Failure {
    let message = format!("the native process did not behave: {what}");
    Failure::new(FailureClass::Transient, "native_protocol", &message)
}
