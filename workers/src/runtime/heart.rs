//! Signs of life, from a thread that no handler can starve (P-38).
//!
//! It has a runtime and a connection of its own: it beats while every other thread of the process is
//! busy. It also says for each message held that work goes on, and hears which runs should stop.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Subject, Subscriber};
use bus::Bus;
use bytes::Bytes;
use domain::message::{Heartbeat, QueueSlots, StopRuns};
use futures_util::StreamExt;
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::board::Board;
use super::options::{Options, StartError, Timing};
use super::slots::Queue;

/// How long one message may wait for a connection.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the last beat may take.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// What the worker is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Working,
    /// It takes nothing new; its runs are still alive.
    Leaving,
    Gone,
}

/// The handle of the thread.
pub(super) struct Heart {
    phase: watch::Sender<Phase>,
    ended: oneshot::Receiver<()>,
}

struct Beat {
    bus: Bus,
    worker_id: String,
    queues: Vec<Arc<Queue>>,
    timing: Timing,
    board: Arc<Board>,
    phase: watch::Receiver<Phase>,
}

impl Heart {
    pub(super) fn start(
        options: &Options,
        queues: Vec<Arc<Queue>>,
        board: Arc<Board>,
    ) -> Result<Self, StartError> {
        let (phase, watched) = watch::channel(Phase::Working);
        let (end, ended) = oneshot::channel();
        let beat = Beat {
            bus: options.bus.clone(),
            worker_id: options.worker_id.clone(),
            queues,
            timing: options.timing.clone(),
            board,
            phase: watched,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        std::thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(move || {
                runtime.block_on(beat.live());
                let _ = end.send(());
            })
            .map_err(StartError::Thread)?;
        Ok(Self { phase, ended })
    }

    pub(super) fn tell(&self, phase: Phase) {
        let _ = self.phase.send(phase);
    }

    /// Says goodbye and waits for it to be sent.
    pub(super) async fn end(self) {
        self.tell(Phase::Gone);
        let _ = timeout(END_TIMEOUT, self.ended).await;
    }
}

impl Beat {
    async fn live(mut self) {
        let name = format!("{} heartbeat", self.worker_id);
        let mut orders = loop {
            match self.connect(&name).await {
                Ok(orders) => break orders,
                Err(reason) => tracing::error!(reason, "no heartbeats yet"),
            }
            let waited = timeout(SEND_TIMEOUT, self.phase.wait_for(|p| *p == Phase::Gone)).await;
            if waited.is_ok() {
                return;
            }
        };
        let mut beats = interval(self.timing.heartbeat);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut acks = interval(self.timing.in_progress);
        acks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                changed = self.phase.changed() => {
                    let phase = *self.phase.borrow_and_update();
                    self.beat(phase).await;
                    if changed.is_err() || phase == Phase::Gone {
                        let _ = timeout(SEND_TIMEOUT, self.bus.client.flush()).await;
                        return;
                    }
                }
                Some(order) = orders.next() => self.obey(&order.payload),
                _ = beats.tick() => {
                    let phase = *self.phase.borrow();
                    self.beat(phase).await;
                }
                _ = acks.tick() => self.keep().await,
            }
        }
    }

    /// A connection that belongs to this thread, and the orders that come over it.
    async fn connect(&mut self, name: &str) -> Result<Subscriber, String> {
        self.bus = self.bus.another(name).await.map_err(|e| e.to_string())?;
        let subject = self.bus.subjects.worker(&self.worker_id);
        let orders = self.bus.client.subscribe(subject).await;
        orders.map_err(|error| error.to_string())
    }

    async fn beat(&self, phase: Phase) {
        let slots = match phase {
            Phase::Working => self.slots(),
            Phase::Leaving | Phase::Gone => Vec::new(),
        };
        let runs = match phase {
            Phase::Gone => Vec::new(),
            Phase::Working | Phase::Leaving => self.board.announced(),
        };
        let mut parts: Vec<_> = runs
            .chunks(Heartbeat::RUNS_MAX)
            .map(<[_]>::to_vec)
            .collect();
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        for runs in parts {
            let heartbeat = Heartbeat {
                worker_id: self.worker_id.clone(),
                slots: slots.clone(),
                runs,
            };
            let payload = serde_json::to_vec(&heartbeat).unwrap_or_default();
            let subject = Subject::from(self.bus.subjects.heartbeats());
            self.publish(subject, Bytes::from(payload)).await;
        }
    }

    fn slots(&self) -> Vec<QueueSlots> {
        let slots = self.queues.iter().map(|queue| QueueSlots {
            queue: queue.name.clone(),
            slots: queue.announced(),
        });
        slots.collect()
    }

    /// Tells the server that every message held is being worked on.
    async fn keep(&self) {
        for ack in self.board.acks() {
            self.publish(ack, Bytes::from_static(b"+WPI")).await;
        }
    }

    fn obey(&self, payload: &[u8]) {
        match serde_json::from_slice::<StopRuns>(payload) {
            Ok(order) => self.board.stop(&order),
            Err(error) => tracing::warn!(%error, "an order that is none"),
        }
    }

    async fn publish(&self, subject: Subject, payload: Bytes) {
        match timeout(SEND_TIMEOUT, self.bus.client.publish(subject, payload)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a heartbeat was not sent"),
            Err(_) => tracing::debug!("a heartbeat was not sent in time"),
        }
    }
}
