//! Feeds one queue: asks for as many messages as slots are free and starts a run for each.
//!
//! A batch is asked for only while no other batch of this queue is on its way, so that the shares of the
//! priorities hold. The open requests of idle lanes may bring a message or two more than there are
//! slots: these go back at once, to whoever has room.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use async_nats::Message;
use async_nats::jetstream::{self, AckKind};
use domain::priority::Priority;
use futures_util::{Stream, StreamExt};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::Worker;
use super::lane::{Lane, Word};
use super::share::Shares;
use super::slots::Queue;
use super::task;

/// How often requests without an answer are looked for.
const TICK: Duration = Duration::from_millis(100);
/// How long the server may take to end a subscription.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

struct Feeder {
    worker: Arc<Worker>,
    queue: Arc<Queue>,
    lanes: Vec<Lane>,
    shares: Shares,
    /// How often the connection was made.
    connects: u64,
}

/// Feeds a queue until the worker leaves.
pub(super) async fn feed(worker: Arc<Worker>, queue: Arc<Queue>) {
    let shutdown = worker.shutdown.clone();
    let feeder = tokio::select! {
        feeder = Feeder::open(worker, queue) => feeder,
        () = shutdown.cancelled() => return,
    };
    let Some(mut feeder) = feeder else { return };
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = feeder.ask() => {}
            () = shutdown.cancelled() => break,
        }
        let queue = Arc::clone(&feeder.queue);
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some((lane, message)) = next(&mut feeder.lanes) => {
                feeder.take(lane, message).await;
                feeder.take_what_is_here().await;
            }
            () = queue.freed.notified() => {}
            _ = tick.tick() => feeder.check(),
        }
    }
    feeder.close().await;
}

impl Feeder {
    async fn open(worker: Arc<Worker>, queue: Arc<Queue>) -> Option<Self> {
        let mut lanes = Vec::new();
        for priority in Priority::ALL {
            match Lane::open(&worker.bus, priority).await {
                Ok(lane) => lanes.push(lane),
                Err(reason) => {
                    // Only a client that was closed refuses a subscription.
                    tracing::error!(queue = queue.name, reason, "the queue cannot be served");
                    return None;
                }
            }
        }
        let connects = connects(&worker);
        Some(Self {
            worker,
            queue,
            lanes,
            shares: Shares::default(),
            connects,
        })
    }

    /// Opens the requests that free slots allow.
    async fn ask(&mut self) {
        for lane in &mut self.lanes {
            lane.ensure(&self.worker.bus, &self.queue.name).await;
        }
        let free = self.queue.free();
        if free == 0 {
            return;
        }
        if self.expected() == 0 {
            let has_some = |tier: usize| self.lanes.get(tier).is_some_and(Lane::may_have_some);
            let has_some = [has_some(0), has_some(1), has_some(2)];
            let shares = self.shares.deal(free, has_some);
            for (lane, share) in self.lanes.iter_mut().zip(shares) {
                if share > 0 {
                    lane.ask_batch(share).await;
                }
            }
        }
        for lane in self.lanes.iter_mut().filter(|lane| lane.should_wait()) {
            lane.ask_next(self.worker.timing.pull_expires).await;
        }
    }

    /// Starts a run, or gives the message back when there is no room for it.
    async fn take(&mut self, lane: usize, message: Message) {
        let expires = self.worker.timing.pull_expires;
        let Some(lane) = self.lanes.get_mut(lane) else {
            return;
        };
        // Room that a batch on its way was promised is not free for a message of an idle lane.
        let promised = lane.expected() > 0;
        let Word::Task = lane.hear(&message, expires) else {
            return;
        };
        let context = self.worker.bus.jetstream.clone();
        let message = jetstream::Message { message, context };
        let room = self.queue.free();
        if room == 0 || (!promised && room <= self.expected()) {
            tracing::debug!(queue = self.queue.name, "no room: a message goes back");
            let _ = message.ack_with(AckKind::Nak(None)).await;
            return;
        }
        let slot = self.queue.take();
        let (worker, queue) = (Arc::clone(&self.worker), Arc::clone(&self.queue));
        self.worker
            .tasks
            .spawn(task::deal(worker, queue, slot, message));
    }

    async fn take_what_is_here(&mut self) {
        for _ in 0..self.queue.slots {
            let ready = futures_util::FutureExt::now_or_never(next(&mut self.lanes)).flatten();
            let Some((lane, message)) = ready else { return };
            self.take(lane, message).await;
        }
    }

    /// How many messages of batches are on their way.
    fn expected(&self) -> u32 {
        self.lanes.iter().map(Lane::expected).sum()
    }

    fn check(&mut self) {
        let connects = connects(&self.worker);
        if connects != self.connects {
            self.connects = connects;
            self.lanes.iter_mut().for_each(Lane::reconnected);
        }
        self.lanes.iter_mut().for_each(Lane::check);
    }

    /// Ends the subscriptions and gives back what was on its way.
    async fn close(mut self) {
        for lane in &mut self.lanes {
            let _ = lane.messages.drain().await;
        }
        let context = self.worker.bus.jetstream.clone();
        let rest = async {
            for lane in &mut self.lanes {
                while let Some(message) = lane.messages.next().await {
                    if message.status.is_none() {
                        let context = context.clone();
                        let message = jetstream::Message { message, context };
                        let _ = message.ack_with(AckKind::Nak(None)).await;
                    }
                }
            }
        };
        let _ = timeout(DRAIN_TIMEOUT, rest).await;
    }
}

/// The next message of any lane, the most urgent first.
fn next(lanes: &mut [Lane]) -> impl Future<Output = Option<(usize, Message)>> {
    std::future::poll_fn(move |cx| {
        let mut closed = true;
        for (index, lane) in lanes.iter_mut().enumerate() {
            match Pin::new(&mut lane.messages).poll_next(cx) {
                Poll::Ready(Some(message)) => return Poll::Ready(Some((index, message))),
                Poll::Ready(None) => {}
                Poll::Pending => closed = false,
            }
        }
        if closed {
            Poll::Ready(None)
        } else {
            Poll::Pending
        }
    })
}

fn connects(worker: &Worker) -> u64 {
    worker
        .bus
        .client
        .statistics()
        .connects
        .load(Ordering::Relaxed)
}
