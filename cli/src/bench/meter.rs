//! Clock, percentiles and memory: what a measurement needs of the machine.

use std::time::{Duration, Instant};

use anyhow::Context as _;

/// Runs `work` and says how long it took.
pub(super) fn timed(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    start.elapsed()
}

/// The clock of the machine.
#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures real time; nothing else in the program does"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// The value below which so many per cent of the sorted times lie, in milliseconds.
pub(super) fn percentile_ms(sorted: &[Duration], per_cent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let time = sorted.get(last * per_cent / 100).copied();
    time.unwrap_or_default().as_secs_f64() * 1_000.0
}

/// Memory of this process that is in RAM, in bytes.
pub(super) fn resident_bytes() -> anyhow::Result<u64> {
    memory("self", "VmRSS:")
}

/// The same of another process.
pub(super) fn resident_of(pid: u32) -> anyhow::Result<u64> {
    memory(&pid.to_string(), "VmRSS:")
}

/// The most memory that a process has had in RAM, in bytes.
pub(super) fn peak_bytes(pid: u32) -> anyhow::Result<u64> {
    memory(&pid.to_string(), "VmHWM:")
}

fn memory(process: &str, field: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))
        .context("cannot read the memory of a process; the benchmark needs Linux")?;
    let line = status.lines().find_map(|l| l.strip_prefix(field));
    let kilobytes = line.and_then(|l| l.trim().strip_suffix("kB"));
    let kilobytes = kilobytes.and_then(|k| k.trim().parse::<u64>().ok());
    Ok(kilobytes.with_context(|| format!("/proc has no {field}"))? * 1_024)
}

/// Bytes in megabytes.
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}
