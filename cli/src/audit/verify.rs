//! `strata audit verify`: the whole log again.

use std::time::Duration;

use domain::event::checkpoint::Signed;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use projections::audit::{self, Options, Report};
use serde_json::json;
use tokio::time::Instant;

use super::args::VerifyArgs;
use super::own_key;
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint, one_line};
use crate::roles::migrate;
use crate::roles::stack::Stack;
use crate::{logging, runtime};

/// Connections, unless it is said how many.
const CONNECTIONS_MAX: usize = 8;

pub(super) fn run(args: &VerifyArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init_quiet(&args.place.log);
    let live = console.look.live;
    let ran = runtime::block_on(async |stop| {
        tokio::select! {
            () = stop.cancelled() => Ok(None),
            done = verify(args, live) => done.map(Some),
        }
    })?;
    let Some((report, seconds)) = ran else {
        return Ok(Exit::Interrupted);
    };
    show(&report, seconds, args.output, console)?;
    Ok(match report.finding {
        None => Exit::Ok,
        Some(_) => Exit::NotVerified,
    })
}

async fn verify(args: &VerifyArgs, live: bool) -> anyhow::Result<(Report, f64)> {
    let place = &args.place;
    let mut keys = args.keys.clone();
    keys.extend(own_key(place)?);
    // Before the log: what is signed later must not look like something that is missing.
    let known = known(args).await?;
    let known = known.into_iter().filter(|signed| {
        // Checkpoints of another key are nothing to hold against this log.
        keys.is_empty() || keys.iter().any(|key| signed.verify(key).is_ok())
    });
    let known = known.collect();
    let stack = Stack::of_database(&place.data_dir)?;
    migrate::require(&stack).await?;
    let connections = args.connections.unwrap_or_else(connections);
    let pool = stack.pool(1).await?;
    let options = Options {
        since: args.since,
        at_once: usize::try_from(connections)?,
        keys,
        known,
    };
    let bar = bar(live);
    let start = Instant::now();
    let report = audit::verify(&pool, &options, |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })
    .await;
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    pool.close().await;
    let report = report.map_err(|error| {
        Stop::unreachable(
            format!("the log cannot be read: {}", chain(&error)),
            "strata doctor",
        )
    })?;
    Ok((report, seconds))
}

/// As many as there are processors, within reason.
pub(crate) fn connections() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(processors.clamp(2, CONNECTIONS_MAX)).unwrap_or(2)
}

async fn known(args: &VerifyArgs) -> anyhow::Result<Vec<Signed>> {
    let place = &args.place;
    let file = match &args.checkpoints {
        Some(file) if !file.exists() => {
            let message = format!("--checkpoints: there is no file {}", file.display());
            return Err(Stop::usage(message, "strata audit verify --help"));
        }
        Some(file) => file.clone(),
        None => place.own.checkpoints(&place.data_dir),
    };
    let read = projections::notary::read_file(&file).await;
    read.map_err(|error| Stop::usage(format!("{}: {error}", file.display()), ""))
}

fn bar(live: bool) -> ProgressBar {
    let target = match live {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    let style =
        ProgressStyle::with_template("{bar:20} {percent}% {pos} of {len} events, {per_sec}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn show(
    report: &Report,
    seconds: f64,
    output: Format,
    console: &mut Console<'_>,
) -> anyhow::Result<()> {
    let rate = report.events as f64 / seconds.max(0.001);
    if output == Format::Json {
        let mut value = serde_json::to_value(report)?;
        value["ok"] = json!(report.finding.is_none());
        value["seconds"] = json!(seconds);
        value["events_per_s"] = json!(rate.round());
        console.data(&serde_json::to_string_pretty(&value)?)?;
        return Ok(());
    }
    let (events, batches, checkpoints) = (report.events, report.batches, report.checkpoints);
    let counted = format!(
        "{events} events from position {}, {batches} batches and {checkpoints} checkpoints in {seconds:.1} s \
         ({rate:.0} events per second)",
        report.from_pos
    );
    let Some(finding) = &report.finding else {
        let word = console.look.paint(Paint::Good, "ok");
        console.data(&format!("{word}: {counted}"))?;
        let vouched = match (report.signatures, report.signed_upto) {
            (false, _) => {
                "signatures were not checked: there is no key here; give one with --key".to_owned()
            }
            (true, 0) => "no signed checkpoint vouches for any of it".to_owned(),
            (true, pos) => format!("signed checkpoints vouch for positions 1 to {pos}"),
        };
        console.talk(&vouched)?;
        return Ok(());
    };
    let word = console.look.paint(Paint::Bad, "changed");
    let place = match finding.upto == finding.pos {
        true => format!("position {}", finding.pos),
        false => format!("position {} (to {})", finding.pos, finding.upto),
    };
    console.data(&format!("{word}: {place}: {}", one_line(&finding.message)))?;
    console.talk(&format!(
        "before it: {counted}\nsigned checkpoints vouch for positions 1 to {}",
        report.signed_upto
    ))?;
    Ok(())
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
