//! `strata orchestrator`: owns jobs, decides, dispatches.

use std::sync::Arc;
use std::time::Duration;

use bus::Bus;
use commands::orchestrator::{self, Dispatch, Handle, Notice, Options};
use domain::id::OwnerId;
use domain::job::Policy;
use domain::message::{Sending, TaskMessage};
use projections::dispatch::{self, Publisher};
use serde_json::Map;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::args::{OrchestratorArgs, Own};
use super::budget::Budget;
use super::ops::{self, Subject};
use super::stack::{Stack, Write, fresh_owner, host};
use super::{migrate, register};
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::{logging, runtime};

/// How often it is looked whether a part has ended.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Notices that are passed on together.
const NEWS_MAX: usize = 256;

pub(crate) fn run(args: &OrchestratorArgs, _console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init(&args.stack.log);
    let stack = Stack::find(&args.stack)?;
    runtime::block_on(|stop| async move {
        migrate::require(&stack).await?;
        let bus = stack.bus("orchestrator").await?;
        let budget = Budget::ORCHESTRATOR;
        let write = stack.write(&budget, Some(bus.clone())).await?;
        budget.announce(&write.pool).await;
        let subject = Subject {
            pool: Some(write.pool.clone()),
            bus: Some(bus.clone()),
            ..Subject::default()
        };
        let served = ops::serve(&args.ops, subject, &stop).await?;
        let running = start(&args.own, &write, bus).await?;
        tokio::select! {
            () = stop.cancelled() => {}
            () = running.ended() => {
                running.stop().await;
                anyhow::bail!("the orchestrator ended by itself, which is a fault of Strata");
            }
        }
        running.stop().await;
        ops::stop(served).await;
        write.stop().await;
        Ok(Exit::Ok)
    })
}

/// A running orchestrator with its way to the queues.
pub(super) struct Orchestrating {
    handle: Handle,
    publisher: JoinHandle<()>,
    stop_publisher: CancellationToken,
    pub(super) owner: OwnerId,
}

/// Returns when a task has ended that never should.
pub(super) async fn ended<T>(task: &JoinHandle<T>) {
    let mut look = tokio::time::interval(LOOK_EVERY);
    while !task.is_finished() {
        look.tick().await;
    }
}

impl Orchestrating {
    /// Takes no more jobs; reports of those that are here are still heard.
    pub(super) fn stop_taking(&self) {
        self.handle.stop_taking();
    }

    /// Hands everything over.
    pub(super) async fn stop(self) {
        self.handle.stop().await;
        self.stop_publisher.cancel();
    }

    /// Returns only if something is wrong.
    pub(super) async fn ended(&self) {
        let mut look = tokio::time::interval(LOOK_EVERY);
        while !self.handle.is_finished() && !self.publisher.is_finished() {
            look.tick().await;
        }
    }
}

/// Registers the workflows and starts to own jobs.
pub(super) async fn start(own: &Own, write: &Write, bus: Bus) -> anyhow::Result<Orchestrating> {
    register::all(&write.writer, own.workflows.as_deref()).await?;
    let stop_publisher = CancellationToken::new();
    let (publisher, found) = Publisher::new(bus.clone());
    let (notices, told) = mpsc::channel(1_024);
    let publishing = tokio::spawn(publisher.clone().run(stop_publisher.clone()));
    tokio::spawn(translate(found, notices.clone()));
    let owner = fresh_owner();
    let options = Options {
        owner,
        host: host(),
        policy: Policy {
            // Workers name their runs every few seconds; two rounds of that.
            claim_grace: own.run_silence.min(Policy::default().claim_grace),
            ..Policy::default()
        },
        env: Map::new(),
        fail_fast: own.fail_fast,
        beat: own.beat,
        stale: own.stale,
        scan: own.scan,
        sweep: own.sweep,
        run_silence: own.run_silence,
        jobs_max: usize::try_from(own.jobs_max)?,
        nodes_max: usize::try_from(own.nodes_max)?,
        dispatch: Arc::new(ToQueues { publisher, notices }),
        notices: told,
    };
    let handle = orchestrator::start(write.writer.clone(), bus, options).await;
    let handle = handle.map_err(|error| Stop::unreachable(error.to_string(), "strata doctor"))?;
    tracing::info!(owner_id = %owner, "the orchestrator is ready");
    Ok(Orchestrating {
        handle,
        publisher: publishing,
        stop_publisher,
        owner,
    })
}

/// What the owner decides goes to the queues.
struct ToQueues {
    publisher: Publisher,
    notices: mpsc::Sender<Notice>,
}

impl Dispatch for ToQueues {
    fn publish(&self, messages: Vec<TaskMessage>) {
        self.publisher.publish(messages);
    }

    fn look_for(&self, messages: Vec<(Sending, u64)>) {
        let (publisher, notices) = (self.publisher.clone(), self.notices.clone());
        tokio::spawn(async move {
            for lost in publisher.check(messages).await {
                if notices.send(Notice::MessageLost(lost)).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// What the publisher finds out, in the words of the owner.
async fn translate(mut found: mpsc::Receiver<dispatch::Notice>, notices: mpsc::Sender<Notice>) {
    let mut news = Vec::new();
    while found.recv_many(&mut news, NEWS_MAX).await > 0 {
        let mut places = Vec::new();
        for notice in news.drain(..) {
            match notice {
                dispatch::Notice::Published { sending, seq } => places.push((sending, seq)),
                dispatch::Notice::StreamLost => {
                    // Places in the stream that is gone come before it, and mean nothing after it.
                    let told = std::mem::take(&mut places);
                    let _ = notices.send(Notice::Published(told)).await;
                    let _ = notices.send(Notice::StreamLost).await;
                }
                // It runs into the time limit of waiting, and is in the log of this process.
                dispatch::Notice::Undeliverable { .. } => {}
            }
        }
        if !places.is_empty() && notices.send(Notice::Published(places)).await.is_err() {
            return;
        }
    }
}
