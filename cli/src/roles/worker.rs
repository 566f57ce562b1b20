//! `strata worker`: runs tasks. It has no connection to the database.

use std::time::Duration;

use bus::Bus;
use domain::message::QueueSlots;
use tokio_util::sync::CancellationToken;
use workers::shipped::Tools;
use workers::{Options, Profile, Registry, Timing};

use super::args::{Work, WorkerArgs};
use super::ops::{self, Subject};
use super::stack::{Stack, fresh_owner, host};
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::{logging, runtime};

pub(crate) fn run(args: &WorkerArgs, _console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init(&args.stack.log);
    let stack = Stack::find_nats(&args.stack)?;
    runtime::block_on(|stop| async move {
        let bus = stack.bus("worker").await?;
        let subject = Subject {
            bus: Some(bus.clone()),
            ..Subject::default()
        };
        let served = ops::serve(&args.ops, subject, &stop).await?;
        let options = Options {
            bus,
            worker_id: args.worker_id.clone().unwrap_or_else(fresh_name),
            queues: queues(args)?,
            registry: Registry::shipped(args.geo.tools(&stack)?)?,
            store: stack.store(&args.store)?,
            scratch: stack.scratch(args.scratch.as_deref()),
            idle_timeout: args.idle_timeout,
            timing: timing(&args.work, args.stack.ack_wait),
        };
        let ended = workers::run(options, stop).await;
        ops::stop(served).await;
        ended.map_err(|error| Stop::usage(error.to_string(), "strata worker --help"))?;
        Ok(Exit::Ok)
    })
}

/// Works on the queues of both profiles until it is told to stop.
pub(super) async fn work(
    stack: &Stack,
    bus: Bus,
    store: workers::Store,
    tools: Tools,
    work: &Work,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let timing = timing(work, bus.ack_wait);
    let options = Options {
        bus,
        worker_id: fresh_name(),
        queues: with_slots(profiles(&Profile::ALL), work.concurrency),
        registry: Registry::shipped(tools)?,
        store,
        scratch: stack.scratch(None),
        idle_timeout: None,
        timing,
    };
    Ok(workers::run(options, stop).await?)
}

fn timing(work: &Work, ack_wait: Duration) -> Timing {
    Timing {
        in_progress: ack_wait / 3,
        heartbeat: work.heartbeat,
        shutdown_grace: work.shutdown_grace,
        ..Timing::default()
    }
}

fn queues(args: &WorkerArgs) -> anyhow::Result<Vec<QueueSlots>> {
    if args.queues.is_empty() {
        let chosen = if args.profile.is_empty() {
            &Profile::ALL[..]
        } else {
            &args.profile
        };
        return Ok(with_slots(profiles(chosen), args.work.concurrency));
    }
    args.queues
        .iter()
        .map(|text| queue(text, args.work.concurrency))
        .collect()
}

/// `NAME` or `NAME=SLOTS`.
fn queue(text: &str, concurrency: Option<u32>) -> anyhow::Result<QueueSlots> {
    let (name, slots) = match text.split_once('=') {
        Some((name, slots)) => (name, Some(slots)),
        None => (text, None),
    };
    let slots = match slots.map(str::parse::<u32>) {
        Some(Ok(slots)) if (1..=10_000).contains(&slots) => slots,
        Some(_) => {
            let message = format!("--queues: `{text}` needs a number of slots from 1 to 10000");
            return Err(Stop::usage(message, "strata worker --help"));
        }
        None => concurrency.unwrap_or_else(|| slots_of(name)),
    };
    Ok(QueueSlots {
        queue: name.to_owned(),
        slots,
    })
}

/// A queue of no profile is served like the light one.
fn slots_of(name: &str) -> u32 {
    let known = Profile::ALL.into_iter().find(|p| p.queue() == name);
    known.unwrap_or(Profile::Light).slots(cpus())
}

fn profiles(chosen: &[Profile]) -> Vec<QueueSlots> {
    chosen.iter().map(|p| p.queue_slots(cpus())).collect()
}

fn with_slots(mut queues: Vec<QueueSlots>, concurrency: Option<u32>) -> Vec<QueueSlots> {
    if let Some(slots) = concurrency {
        queues.iter_mut().for_each(|queue| queue.slots = slots);
    }
    queues
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

/// Host, process and a random part, in the letters that a subject takes.
fn fresh_name() -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() { c } else { '-' }
    };
    let host: String = host().chars().map(plain).take(60).collect();
    let random = fresh_owner().0.simple().to_string();
    format!(
        "{host}-{}-{}",
        std::process::id(),
        random.get(..6).unwrap_or("0")
    )
}
