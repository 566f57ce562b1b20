//! The geospatial handlers against the tools that people would use otherwise, on the same files in the same run.
//!
//! Ours and theirs take turns, and medians are compared: what else this machine does then meets both. Ours is the
//! whole of it, from the submission to the end of the job in the read models.

pub(super) mod cog;
pub(super) mod h3;
mod tables;
pub(super) mod vector;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio_util::task::AbortOnDropHandle;

use super::meter::{megabytes, now, peak_bytes};
use super::rig::Rig;
use super::{Figure, shapes};
use crate::exit::Stop;

/// Turns of each.
const ROUNDS: usize = 5;
/// No job of these benches takes nearly as long.
const DEADLINE: Duration = Duration::from_secs(300);
/// How often the memory of a process is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// One turn of one side.
#[derive(Debug, Clone, Copy)]
struct Turn {
    took: Duration,
    /// The most memory of the process that did it.
    peak: u64,
}

/// Runs one task of a handler as a job.
async fn job(rig: &Rig, id: &str, handler: &str, params: &Value) -> anyhow::Result<Turn> {
    rig.register(&shapes::task(id, handler, params)).await?;
    let peak = Peak::of_children(rig.pid("worker")?);
    let start = now();
    let submitted = rig.submit(id).await?;
    rig.all_done(DEADLINE).await?;
    let took = start.elapsed();
    let completed = super::look::job_times(&rig.pool, id).await?;
    if completed.is_empty() {
        return Err(Stop::failed(
            format!(
                "{handler} failed: {}",
                tables::failure(&rig.pool, submitted.job_id).await?
            ),
            "",
        ));
    }
    let peak = peak.bytes();
    Ok(Turn { took, peak })
}

/// Runs a program of GDAL to its end.
async fn tool(
    dir: &Path,
    program: &str,
    args: &[&str],
    env: &[(&str, &str)],
) -> anyhow::Result<Turn> {
    let mut command = Command::new(program);
    command
        .args(args)
        .envs(env.iter().copied())
        .current_dir(dir);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let start = now();
    let child = command.spawn().map_err(|error| {
        Stop::failed(
            format!("{program} cannot be started: {error}"),
            "apt-get install gdal-bin",
        )
    })?;
    let peak = Peak::of(child.id().into_iter().collect());
    let output = child.wait_with_output().await?;
    let took = start.elapsed();
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{program}: {said}");
    let peak = peak.bytes();
    Ok(Turn { took, peak })
}

/// The most memory that processes have while this lives.
struct Peak {
    most: Arc<AtomicU64>,
    _looking: AbortOnDropHandle<()>,
}

impl Peak {
    fn of(pids: Vec<u32>) -> Self {
        Self::watch(move || pids.clone())
    }

    /// Of the processes that one has started, whichever runs at the time.
    fn of_children(parent: u32) -> Self {
        Self::watch(move || children(parent))
    }

    fn watch(pids: impl Fn() -> Vec<u32> + Send + 'static) -> Self {
        let most = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&most);
        let looking = tokio::spawn(async move {
            loop {
                for bytes in pids().into_iter().filter_map(|pid| peak_bytes(pid).ok()) {
                    seen.fetch_max(bytes, Ordering::Relaxed);
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        });
        Self {
            most,
            _looking: AbortOnDropHandle::new(looking),
        }
    }

    fn bytes(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

fn children(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let pids = texts.flat_map(|text| {
        text.split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect::<Vec<_>>()
    });
    pids.collect()
}

/// Both sides beside each other; `n` is how much each turn did.
fn figure(bench: &'static str, n: u32, limit: &str, ours: &[Turn], theirs: &[Turn]) -> Figure {
    let times = |turns: &[Turn]| {
        let mut times: Vec<Duration> = turns.iter().map(|turn| turn.took).collect();
        times.sort_unstable();
        times
    };
    let median = |turns: &[Turn]| {
        let times = times(turns);
        times
            .get(times.len() / 2)
            .copied()
            .unwrap_or_default()
            .as_secs_f64()
    };
    let seconds = |turns: &[Turn]| {
        turns
            .iter()
            .map(|turn| turn.took.as_secs_f64())
            .collect::<Vec<_>>()
    };
    let peak = |turns: &[Turn]| turns.iter().map(|turn| turn.peak).max().unwrap_or_default();
    let (our_s, their_s) = (median(ours), median(theirs));
    let sorted = times(ours);
    let (rate_per_s, limit_per_s) = (f64::from(n) / our_s, f64::from(n) / their_s);
    let mut figure = Figure {
        bench,
        n: u64::from(n),
        total_s: our_s,
        rate_per_s,
        p50_ms: super::meter::percentile_ms(&sorted, 50),
        p99_ms: super::meter::percentile_ms(&sorted, 99),
        limit_per_s,
        ratio: rate_per_s / limit_per_s,
        rss_mb: megabytes(peak(ours)),
        ..Figure::default()
    };
    figure.also("limit", json!(limit));
    figure.also("times_of_limit", json!(our_s / their_s));
    figure.also("ours_s", json!(seconds(ours)));
    figure.also("limit_s", json!(seconds(theirs)));
    if peak(theirs) > 0 {
        figure.also("limit_rss_mb", json!(megabytes(peak(theirs))));
    }
    figure
}

/// Numbers that look random and are the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32
    }
}
