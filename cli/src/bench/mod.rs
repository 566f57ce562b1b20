//! `strata bench`: figures of this build on this machine, as JSON lines on stdout and a table on stderr.
//!
//! Every line has the same keys, so that figures can be compared over time by a program. `limit_per_s` is
//! the machine's own limit for comparable work, measured in the same run: how many of the same events
//! per second a plain loop can clone. A decision cannot be faster than making its event.

mod core;
mod fixture;
mod fold;
mod meter;

use serde::Serialize;

use crate::exit::Exit;
use crate::output::{Console, lines_of};

/// One measured line.
#[derive(Debug, Clone, Default, Serialize)]
struct Figure {
    bench: &'static str,
    n: u64,
    total_s: f64,
    rate_per_s: f64,
    /// Of one report; for `core-fold` of a batch of 1,000 events.
    p50_ms: f64,
    p99_ms: f64,
    limit_per_s: f64,
    /// What is reached of the limit: `rate_per_s` against `limit_per_s`.
    ratio: f64,
    /// Time per report against that of the smallest job; for `core-fold` total time against the
    /// smaller fold.
    growth: f64,
    rss_mb: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ns_per_report: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_node: Option<f64>,
}

/// Decisions and memory of one job of three sizes, then folding of events.
pub(crate) fn core(console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let mut figures = core::measure()?;
    figures.extend(fold::measure()?);
    for figure in &figures {
        console.data(&serde_json::to_string(figure)?)?;
    }
    console.talk(&table(&figures, console))?;
    Ok(Exit::Ok)
}

fn table(figures: &[Figure], console: &Console<'_>) -> String {
    let header = [
        "BENCH",
        "N",
        "RATE/S",
        "NS/REPORT",
        "P50 MS",
        "P99 MS",
        "LIMIT/S",
        "RATIO",
        "GROWTH",
        "BYTES/NODE",
        "RSS MB",
    ];
    let mut table = console.look.table(&header);
    let whole = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.0}"));
    for figure in figures {
        table.add_row([
            figure.bench.to_owned(),
            figure.n.to_string(),
            whole(Some(figure.rate_per_s)),
            whole(figure.ns_per_report),
            format!("{:.4}", figure.p50_ms),
            format!("{:.4}", figure.p99_ms),
            whole(Some(figure.limit_per_s)),
            format!("{:.2}", figure.ratio),
            format!("{:.2}", figure.growth),
            whole(figure.bytes_per_node),
            whole(Some(figure.rss_mb)),
        ]);
    }
    lines_of(&table)
}
