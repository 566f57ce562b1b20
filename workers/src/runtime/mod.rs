//! The worker: pull, run, report, show signs of life, leave in order.
//!
//! Always true: no more tasks run in a queue than it has slots; a message is acknowledged only after the
//! owner answered, or when its result cannot count; a report is repeated until it is answered or
//! the worker leaves.

mod board;
mod dead;
mod decode;
mod execute;
mod feed;
mod heart;
mod lane;
mod link;
mod measure;
mod options;
mod outcome;
mod reporter;
mod results;
mod room;
mod share;
mod slots;
mod task;

use std::sync::Arc;

use bus::Bus;
use tokio::time::{Duration, Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::handler::{CancelReason, Registry};
use crate::store::Store;
use board::Board;
use heart::{Heart, Phase};
pub(crate) use link::Link;
pub use options::{Options, StartError, Timing};
use reporter::Reporter;
use room::Room;
use slots::Queue;

/// How long the last words of a leaving worker may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// What all tasks of a worker share.
pub(crate) struct Worker {
    bus: Bus,
    registry: Registry,
    store: Store,
    scratch: std::path::PathBuf,
    timing: Timing,
    board: Arc<Board>,
    reporter: Arc<Reporter>,
    /// No new work.
    shutdown: CancellationToken,
    /// No more patience: hand back what is left.
    abandon: CancellationToken,
    tasks: TaskTracker,
}

/// Runs a worker until `shutdown` is cancelled, or until it was idle for as long as it may be.
///
/// An unreachable server is waited for; only options that can never work are an error.
pub async fn run(options: Options, shutdown: CancellationToken) -> Result<(), StartError> {
    options.check()?;
    let room = Room::open(&options.scratch, &options.worker_id)?;
    // A token of its own: leaving because of idleness must not cancel the caller's.
    let shutdown = shutdown.child_token();
    let abandon = CancellationToken::new();
    let board = Arc::new(Board::default());
    let reporter = Reporter::new(
        options.bus.clone(),
        options.worker_id.clone(),
        options.timing.clone(),
        abandon.clone(),
    );
    let queues: Vec<_> = options.queues.iter().map(Queue::of).collect();
    let heart = Heart::start(&options, queues.clone(), Arc::clone(&board))?;
    let worker = Arc::new(Worker {
        bus: options.bus,
        registry: options.registry,
        store: options.store,
        scratch: room.path.clone(),
        timing: options.timing,
        board,
        reporter: Arc::new(reporter),
        shutdown: shutdown.clone(),
        abandon,
        tasks: TaskTracker::new(),
    });
    let feeders = TaskTracker::new();
    for queue in queues {
        feeders.spawn(feed::feed(Arc::clone(&worker), queue));
    }
    feeders.close();
    tracing::info!(worker_id = options.worker_id, "the worker is ready");

    tokio::select! {
        () = shutdown.cancelled() => {}
        () = idle(&worker, options.idle_timeout) => tracing::info!("nothing to do: leaving"),
    }
    shutdown.cancel();
    heart.tell(Phase::Leaving);
    leave(&worker, &feeders).await;
    heart.end().await;
    // A disk that hangs must not keep the process.
    let cleared = tokio::task::spawn_blocking(move || room.clear());
    let _ = timeout(FAREWELL, cleared).await;
    tracing::info!(worker_id = options.worker_id, "the worker has left");
    Ok(())
}

/// Asks handlers to end, waits for them, and hands back what is left.
async fn leave(worker: &Worker, feeders: &TaskTracker) {
    let deadline = Instant::now() + worker.timing.shutdown_grace;
    worker.board.cancel_all(CancelReason::Shutdown);
    if timeout(FAREWELL, feeders.wait()).await.is_err() {
        tracing::warn!("a queue did not stop in time; its messages come again later");
    }
    // A message may have become a run between the two.
    worker.board.cancel_all(CancelReason::Shutdown);
    worker.tasks.close();
    if tokio::time::timeout_at(deadline, worker.tasks.wait())
        .await
        .is_err()
    {
        tracing::warn!(runs = worker.board.len(), "handing back what is unfinished");
        worker.abandon.cancel();
        let _ = timeout(FAREWELL, worker.tasks.wait()).await;
    }
    worker.abandon.cancel();
    // Acks are published without waiting; this waits until the server has them.
    let _ = timeout(FAREWELL, worker.bus.client.flush()).await;
}

/// Returns when nothing has run for so long; never when there is no limit.
async fn idle(worker: &Worker, limit: Option<Duration>) {
    let Some(limit) = limit else {
        return std::future::pending().await;
    };
    let step = (limit / 8).clamp(Duration::from_millis(5), Duration::from_secs(1));
    let mut tick = interval(step);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = (worker.board.begun(), Instant::now());
    loop {
        tick.tick().await;
        let begun = worker.board.begun();
        if begun != last.0 || worker.board.len() > 0 {
            last = (begun, Instant::now());
        } else if last.1.elapsed() >= limit {
            return;
        }
    }
}
