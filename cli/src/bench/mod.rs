//! `strata bench`: figures of this build on this machine, as JSON lines on stdout and a table on stderr.
//!
//! Every line has the same first keys, so that figures can be compared over time by a program.
//! `limit_per_s` is the machine's own limit for comparable work, measured in the same run. For `core` it
//! is how many of the same events per second a plain loop can clone: a decision cannot be faster than
//! making its event. The others say in `limit` what theirs is.

mod append;
pub(crate) mod args;
mod at;
mod callbacks;
mod core;
mod face;
mod fanout;
mod fixture;
mod fold;
mod geo;
mod giant;
mod jobs;
mod latency;
mod limit;
mod look;
mod meter;
mod query;
mod read;
mod rebuild;
mod rig;
mod shapes;
mod subscribe;
mod verify;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::exit::Exit;
use crate::output::{Console, lines_of};
use crate::{logging, runtime};
use args::BenchCommand;

/// One measured line.
#[derive(Debug, Clone, Default, Serialize)]
struct Figure {
    bench: &'static str,
    n: u64,
    total_s: f64,
    rate_per_s: f64,
    /// Of one report, batch, job or task; for `core-fold` of a batch of 1,000 events.
    p50_ms: f64,
    p99_ms: f64,
    limit_per_s: f64,
    /// What is reached of the limit: `rate_per_s` against `limit_per_s`.
    ratio: f64,
    /// Of the largest process of ours.
    rss_mb: f64,
    /// What only this bench has.
    #[serde(flatten)]
    more: BTreeMap<&'static str, Value>,
}

impl Figure {
    fn also(&mut self, key: &'static str, value: Value) {
        self.more.insert(key, value);
    }
}

/// Measures, and prints what was measured.
pub(crate) fn run(command: &BenchCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let figures = match command {
        BenchCommand::Core => {
            let mut figures = core::measure()?;
            figures.extend(fold::measure()?);
            figures
        }
        _ => {
            logging::init_quiet(&logging::LogArgs::default());
            let measure =
                async |stop: tokio_util::sync::CancellationToken| on_a_stack(command, &stop).await;
            match command {
                BenchCommand::Latency { .. } => runtime::block_on_one_thread(measure)?,
                _ => runtime::block_on(measure)?,
            }
        }
    };
    for figure in &figures {
        console.data(&serde_json::to_string(figure)?)?;
    }
    console.talk(&table(&figures, console))?;
    Ok(Exit::Ok)
}

async fn on_a_stack(
    command: &BenchCommand,
    stop: &tokio_util::sync::CancellationToken,
) -> anyhow::Result<Vec<Figure>> {
    let roles = match command {
        BenchCommand::Append | BenchCommand::Verify { .. } => rig::Roles::None,
        BenchCommand::Cog | BenchCommand::Vector | BenchCommand::H3 => rig::Roles::WithCatalog,
        BenchCommand::Query
        | BenchCommand::Subscribe
        | BenchCommand::Jobs { api: true, .. }
        | BenchCommand::Chain { api: true }
        | BenchCommand::Fanout { api: true, .. }
        | BenchCommand::Latency { api: true } => rig::Roles::WithApi,
        _ => rig::Roles::All,
    };
    let measured = rig::with(stop, roles, async |rig| match command {
        BenchCommand::Core => Ok(Vec::new()),
        BenchCommand::Append => append::measure(rig).await,
        BenchCommand::Verify { events } => verify::measure(rig, *events).await,
        BenchCommand::Jobs { jobs, .. } => jobs::measure(rig, *jobs).await,
        BenchCommand::Chain { .. } => jobs::chain(rig).await,
        BenchCommand::Fanout { items, .. } => fanout::measure(rig, *items).await,
        BenchCommand::Latency { .. } => latency::measure(rig).await,
        BenchCommand::Query => query::measure(rig).await,
        BenchCommand::Subscribe => subscribe::measure(rig).await,
        BenchCommand::Giant { items } => giant::measure(rig, *items).await,
        BenchCommand::Callbacks { callbacks } => callbacks::measure(rig, *callbacks).await,
        BenchCommand::At { events } => at::measure(rig, *events).await,
        BenchCommand::Cancel { items } => fanout::cancel(rig, *items).await,
        BenchCommand::Rebuild { events } => rebuild::measure(rig, *events).await,
        BenchCommand::Cog => geo::cog::measure(rig).await,
        BenchCommand::Vector => geo::vector::measure(rig).await,
        BenchCommand::H3 => geo::h3::measure(rig).await,
    });
    Box::pin(measured).await
}

/// The memory of the largest process, in megabytes.
fn largest(memory: &BTreeMap<&'static str, f64>) -> f64 {
    memory.values().copied().fold(0.0, f64::max)
}

fn table(figures: &[Figure], console: &Console<'_>) -> String {
    let header = [
        "BENCH", "N", "TOTAL S", "RATE/S", "P50 MS", "P99 MS", "LIMIT/S", "RATIO", "RSS MB", "MORE",
    ];
    let mut table = console.look.table(&header);
    for figure in figures {
        let more = figure.more.iter().filter(|(_, value)| !value.is_object());
        let more = more.map(|(key, value)| match value.as_f64() {
            Some(number) => format!("{key} {number:.2}"),
            None => format!("{key} {value}"),
        });
        table.add_row([
            figure.bench.to_owned(),
            figure.n.to_string(),
            format!("{:.2}", figure.total_s),
            format!("{:.0}", figure.rate_per_s),
            format!("{:.4}", figure.p50_ms),
            format!("{:.4}", figure.p99_ms),
            format!("{:.0}", figure.limit_per_s),
            format!("{:.2}", figure.ratio),
            format!("{:.0}", figure.rss_mb),
            more.collect::<Vec<_>>().join(", "),
        ]);
    }
    lines_of(&table)
}
