//! One priority of one queue: its subscription, and the one request that is open there.
//!
//! A lane asks in two ways: for a batch that is there now, answered at once; and, once nothing was there,
//! for the next message whenever it comes. So a waiting worker gets a message without asking
//! again, and a busy one gets many for one request.

use std::time::Duration;

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::consumer::pull::BatchConfig;
use async_nats::{Message, StatusCode, Subject, Subscriber};
use bus::Bus;
use domain::priority::Priority;
use tokio::time::Instant;

/// How long a batch may take before it counts as lost.
const BATCH_TIMEOUT: Duration = Duration::from_secs(3);
/// Wait before a lost consumer is asked for again, first and longest.
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// One lane.
pub(super) struct Lane {
    pub(super) priority: Priority,
    pub(super) messages: Subscriber,
    inbox: String,
    consumer: Option<PullConsumer>,
    open: Open,
    /// Number of the open request: late words about earlier ones are told apart by it.
    serial: u64,
    /// Nothing was there when it was last asked.
    empty: bool,
    retry_at: Option<Instant>,
    retry_after: Duration,
}

/// The request that is open.
#[derive(Clone, Copy)]
enum Open {
    Nothing,
    Batch { left: u32, until: Instant },
    Next { heard_by: Instant, until: Instant },
}

/// What a message on a lane is.
pub(super) enum Word {
    /// A task.
    Task,
    /// A word about the request.
    Status,
}

impl Lane {
    pub(super) async fn open(bus: &Bus, priority: Priority) -> Result<Self, String> {
        let inbox = bus.client.new_inbox();
        let messages = bus.client.subscribe(format!("{inbox}.*")).await;
        Ok(Self {
            priority,
            messages: messages.map_err(|error| error.to_string())?,
            inbox,
            consumer: None,
            open: Open::Nothing,
            serial: 0,
            empty: false,
            retry_at: None,
            retry_after: RETRY_FIRST,
        })
    }

    /// How many messages are on their way.
    pub(super) fn expected(&self) -> u32 {
        match self.open {
            Open::Batch { left, .. } => left,
            Open::Nothing | Open::Next { .. } => 0,
        }
    }

    /// Whether a batch can be asked for.
    pub(super) fn may_have_some(&self) -> bool {
        self.consumer.is_some() && !self.empty && matches!(self.open, Open::Nothing)
    }

    /// Whether it is time to wait for the next message.
    pub(super) fn should_wait(&self) -> bool {
        self.consumer.is_some() && self.empty && matches!(self.open, Open::Nothing)
    }

    /// Asks for messages that are there now.
    pub(super) async fn ask_batch(&mut self, count: u32) {
        let config = BatchConfig {
            batch: usize::try_from(count).unwrap_or(usize::MAX),
            no_wait: true,
            ..BatchConfig::default()
        };
        let until = Instant::now() + BATCH_TIMEOUT;
        self.ask(config, Open::Batch { left: count, until }).await;
    }

    /// Asks for the next message, whenever it comes.
    pub(super) async fn ask_next(&mut self, expires: Duration) {
        let beat = expires / 4;
        let config = BatchConfig {
            batch: 1,
            expires: Some(expires),
            idle_heartbeat: beat,
            ..BatchConfig::default()
        };
        let now = Instant::now();
        let open = Open::Next {
            heard_by: now + beat * 2,
            until: now + expires + BATCH_TIMEOUT,
        };
        self.ask(config, open).await;
    }

    async fn ask(&mut self, config: BatchConfig, open: Open) {
        self.serial += 1;
        let reply = Subject::from(format!("{}.{}", self.inbox, self.serial));
        let Some(consumer) = &self.consumer else {
            return;
        };
        match consumer.request_batch(config, reply).await {
            Ok(()) => self.open = open,
            Err(error) => self.lost(&error.to_string()),
        }
    }

    /// Takes a message in and says what it is.
    pub(super) fn hear(&mut self, message: &Message, expires: Duration) -> Word {
        let Some(status) = message.status.filter(|status| *status != StatusCode::OK) else {
            self.retry_after = RETRY_FIRST;
            self.empty = false;
            self.open = match self.open {
                Open::Batch { left, until } if left > 1 => Open::Batch {
                    left: left - 1,
                    until,
                },
                _ => Open::Nothing,
            };
            return Word::Task;
        };
        let about = message.subject.rsplit('.').next();
        if about != Some(self.serial.to_string().as_str()) {
            return Word::Status;
        }
        if status == StatusCode::IDLE_HEARTBEAT {
            if let Open::Next { heard_by, .. } = &mut self.open {
                *heard_by = Instant::now() + expires / 2;
            }
        } else if status == StatusCode::NOT_FOUND || status == StatusCode::TIMEOUT {
            self.open = Open::Nothing;
            self.empty = true;
            self.retry_after = RETRY_FIRST;
        } else {
            let reason = message.description.as_deref().unwrap_or("no reason given");
            self.lost(&format!("{status}: {reason}"));
        }
        Word::Status
    }

    /// Gives up a request that nobody answers.
    pub(super) fn check(&mut self) {
        let now = Instant::now();
        let late = match self.open {
            Open::Nothing => false,
            Open::Batch { until, .. } => now >= until,
            Open::Next { heard_by, until } => now >= heard_by || now >= until,
        };
        if late {
            self.lost("no answer");
        }
    }

    /// Forgets what was asked over an earlier connection.
    pub(super) fn reconnected(&mut self) {
        self.open = Open::Nothing;
        self.empty = false;
        self.retry_at = None;
    }

    /// Makes the consumer again, now or when it is time.
    pub(super) async fn ensure(&mut self, bus: &Bus, queue: &str) {
        if self.consumer.is_some() || self.retry_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        match bus.task_consumer(queue, self.priority).await {
            Ok(consumer) => {
                self.consumer = Some(consumer);
                self.open = Open::Nothing;
                self.empty = false;
            }
            Err(error) => self.lost(&error.to_string()),
        }
    }

    fn lost(&mut self, reason: &str) {
        let priority = self.priority.as_str();
        tracing::warn!(priority, reason, "a queue is lost: it is made again");
        self.consumer = None;
        self.open = Open::Nothing;
        self.empty = false;
        self.retry_at = Some(Instant::now() + self.retry_after);
        self.retry_after = (self.retry_after * 2).min(RETRY_MAX);
    }
}
