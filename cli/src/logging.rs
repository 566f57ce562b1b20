//! What the program says while it works: to stderr, for people or for programs.

use std::io::{IsTerminal, Write, stderr};

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Identity, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::spans;

/// Shown when neither `--log-level` nor `RUST_LOG` says something else.
const DEFAULT: &str = "info,sqlx=warn,async_nats=warn";

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LogArgs {
    /// How to write the log; for people on a terminal, else JSON
    #[arg(long, value_enum)]
    pub(crate) log_format: Option<LogFormat>,
    /// Least level to log; `RUST_LOG` can say more
    #[arg(long, value_enum)]
    pub(crate) log_level: Option<LogLevel>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Human,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// Starts logging for a command of a person: only what went wrong, unless more is asked for.
pub(crate) fn init_quiet(args: &LogArgs) {
    init_at_least(args, LogLevel::Error);
}

/// Starts logging from this level on, unless another one is asked for.
pub(crate) fn init_at_least(args: &LogArgs, level: LogLevel) {
    let log_level = args.log_level.unwrap_or(level);
    let args = LogArgs {
        log_level: Some(log_level),
        ..args.clone()
    };
    start(&args, None::<Identity>);
}

/// Starts logging, and the export of traces if it is asked for; once per process, later calls change
/// nothing.
pub(crate) fn init(args: &LogArgs) {
    start(args, spans::layer());
}

fn start(args: &LogArgs, spans: Option<impl Layer<Registry> + Send + Sync>) {
    let terminal = stderr().is_terminal();
    let human = if terminal {
        LogFormat::Human
    } else {
        LogFormat::Json
    };
    let coloured = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Forgiving);
    let lines = match args.log_format.unwrap_or(human) {
        LogFormat::Human => lines.with_ansi(coloured).with_target(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    // The level is for the lines alone: a trace must not depend on how much is logged.
    let lines = lines.with_filter(filter(args.log_level));
    // Fails only if it has been called before.
    let _ = tracing_subscriber::registry()
        .with(spans)
        .with(lines)
        .try_init();
}

/// Stderr, without a word when nobody reads it any more: a log that cannot be written must not end the
/// process in the middle of its work.
struct Forgiving;

impl Write for Forgiving {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let _ = stderr().write_all(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let _ = stderr().flush();
        Ok(())
    }
}

fn filter(level: Option<LogLevel>) -> EnvFilter {
    let level = level.map(|level| match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    });
    match level {
        Some(level) => EnvFilter::new(level.to_string()),
        None => EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_wins() {
        assert_eq!(filter(Some(LogLevel::Debug)).to_string(), "debug");
    }
}
