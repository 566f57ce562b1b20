//! Publishes task messages, many at once, in the order they were handed over.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::publish::PublishAck;
use bus::{Bus, TopologyError, check_queue, metric};
use bytes::Bytes;
use domain::message::{MESSAGE_BYTES_MAX, Sending, TaskMessage};
use domain::priority::Priority;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::evidence::{self, Stream};

/// Messages that may wait for their acknowledgement at once.
const IN_FLIGHT_MAX: usize = 1_000;
/// Notices that may wait for whoever reads them.
const NOTICES_MAX: usize = 16_384;
const WATCH_EVERY: Duration = Duration::from_secs(2);
const PAUSE_FIRST: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// What the owner of tasks is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The stream has the message, at this place.
    Published { sending: Sending, seq: u64 },
    /// The stream was lost with all that was in it; this one will never have the old messages.
    StreamLost,
    /// The message cannot be sent, however often it is tried.
    Undeliverable { sending: Sending, reason: String },
}

/// The way to the queues. Cheap to clone; one task must be in [`Publisher::run`].
#[derive(Debug, Clone)]
pub struct Publisher {
    pub(super) bus: Bus,
    shared: Arc<Shared>,
    notices: mpsc::Sender<Notice>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Bounded by the windows of those who publish.
    waiting: Mutex<VecDeque<TaskMessage>>,
    more: Notify,
}

/// A message ready to go, as often as needed.
struct Parcel {
    sending: Sending,
    dedupe_id: String,
    queue: String,
    priority: Priority,
    payload: Bytes,
}

struct Answer {
    parcel: Parcel,
    /// The highest place that was known, and of which stream, when the parcel was sent.
    known: (u64, u64),
    result: Result<PublishAck, PublishError>,
}

impl Publisher {
    /// A publisher and what it has to tell.
    #[must_use]
    pub fn new(bus: Bus) -> (Self, mpsc::Receiver<Notice>) {
        let (notices, receiver) = mpsc::channel(NOTICES_MAX);
        let publisher = Self {
            bus,
            shared: Arc::default(),
            notices,
        };
        (publisher, receiver)
    }

    /// Hands messages over, without waiting.
    pub fn publish(&self, messages: Vec<TaskMessage>) {
        let mut waiting = self
            .shared
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waiting.extend(messages);
        drop(waiting);
        self.shared.more.notify_one();
    }

    /// Sends what is handed over and watches the stream, until it is told to stop.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut sender = Sender {
            publisher: self,
            made: HashSet::new(),
            stream: Stream::default(),
            again: VecDeque::new(),
            answers: FuturesUnordered::new(),
            paused_until: None,
            pause: PAUSE_FIRST,
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = sender.work() => {}
        }
    }

    fn take(&self) -> Option<TaskMessage> {
        let mut waiting = self
            .shared
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waiting.pop_front()
    }
}

struct Sender {
    publisher: Publisher,
    /// Queues whose consumer exists in the stream as we know it.
    made: HashSet<(String, Priority)>,
    stream: Stream,
    /// Parcels whose sending failed.
    again: VecDeque<Parcel>,
    answers: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// Nothing is sent before this time, because sending failed.
    paused_until: Option<Instant>,
    /// How long the next pause is.
    pause: Duration,
}

impl Sender {
    async fn work(&mut self) {
        let shared = Arc::clone(&self.publisher.shared);
        let mut watch = tokio::time::interval(WATCH_EVERY);
        watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            if self
                .paused_until
                .is_none_or(|until| Instant::now() >= until)
            {
                self.paused_until = None;
                self.fill().await;
            }
            let until = self.paused_until.unwrap_or_else(Instant::now);
            tokio::select! {
                Some(answer) = self.answers.next() => self.take_answer(answer).await,
                () = shared.more.notified(), if self.paused_until.is_none() => {}
                _ = watch.tick() => self.look().await,
                () = tokio::time::sleep_until(until), if self.paused_until.is_some() => {}
            }
        }
    }

    /// Sends as much as may be in flight.
    async fn fill(&mut self) {
        while self.answers.len() < IN_FLIGHT_MAX {
            let parcel = match self.again.pop_front() {
                Some(parcel) => parcel,
                None => match self.publisher.take() {
                    Some(message) => match self.pack(&message) {
                        Ok(parcel) => parcel,
                        Err(reason) => {
                            self.give_up(message.sending(), reason).await;
                            continue;
                        }
                    },
                    None => return,
                },
            };
            if let Err(error) = self.make_consumer(&parcel).await {
                self.retry(parcel, &error.to_string());
                return;
            }
            if !self.send(parcel).await {
                return;
            }
        }
    }

    fn pack(&self, message: &TaskMessage) -> Result<Parcel, String> {
        check_queue(&message.queue).map_err(|error| error.to_string())?;
        let payload = serde_json::to_vec(message).map_err(|error| error.to_string())?;
        if payload.len() > MESSAGE_BYTES_MAX {
            let size = payload.len();
            return Err(format!(
                "the message has {size} bytes; at most {MESSAGE_BYTES_MAX} are sent"
            ));
        }
        Ok(Parcel {
            sending: message.sending(),
            dedupe_id: message.dedupe_id(),
            queue: message.queue.clone(),
            priority: message.priority,
            payload: payload.into(),
        })
    }

    /// Before the first message of a queue its consumer must be there, for whoever comes to pull.
    async fn make_consumer(&mut self, parcel: &Parcel) -> Result<(), TopologyError> {
        let key = (parcel.queue.clone(), parcel.priority);
        if self.made.contains(&key) {
            return Ok(());
        }
        let stream = self.publisher.bus.tasks_stream().await?;
        self.note_stream(evidence::age(&stream)).await;
        self.publisher.bus.task_consumer(&key.0, key.1).await?;
        self.made.insert(key);
        Ok(())
    }

    async fn send(&mut self, parcel: Parcel) -> bool {
        let bus = &self.publisher.bus;
        let subject = bus.subjects.tasks(&parcel.queue, parcel.priority);
        let message = PublishMessage::build()
            .payload(parcel.payload.clone())
            .message_id(&parcel.dedupe_id);
        let known = self.stream.known();
        match bus.jetstream.send_publish(subject, message).await {
            Ok(ack) => {
                let answer = async move {
                    let result = ack.await;
                    Answer {
                        parcel,
                        known,
                        result,
                    }
                };
                self.answers.push(Box::pin(answer));
                true
            }
            Err(error) => {
                self.retry(parcel, &error.to_string());
                false
            }
        }
    }

    async fn take_answer(&mut self, answer: Answer) {
        let Answer {
            parcel,
            known,
            result,
        } = answer;
        match result {
            Ok(ack) => {
                bus::fault::point("published-not-noted");
                if self.stream.is_another(known, ack.sequence, ack.duplicate) {
                    self.lost().await;
                }
                self.stream.saw(ack.sequence);
                self.pause = PAUSE_FIRST;
                let (queue, priority) = (parcel.queue, parcel.priority.as_str());
                metrics::counter!(metric::DISPATCH_PUBLISHED, "queue" => queue, "priority" => priority)
                    .increment(1);
                let (sending, seq) = (parcel.sending, ack.sequence);
                self.tell(Notice::Published { sending, seq }).await;
            }
            Err(error) => {
                match error.kind() {
                    PublishErrorKind::StreamNotFound => self.look().await,
                    PublishErrorKind::MaxPayloadExceeded => {
                        self.give_up(parcel.sending, error.to_string()).await;
                        return;
                    }
                    _ => {}
                }
                self.retry(parcel, &error.to_string());
            }
        }
    }

    fn retry(&mut self, parcel: Parcel, reason: &str) {
        tracing::debug!(
            message = parcel.dedupe_id,
            reason,
            "will be published again"
        );
        self.again.push_back(parcel);
        // Once for all that fail together.
        if self.paused_until.is_none() {
            self.paused_until = Some(Instant::now() + self.pause);
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
    }

    /// Looks whether the stream is still the one we know; makes it if it is gone.
    async fn look(&mut self) {
        let bus = &self.publisher.bus;
        match evidence::look(bus).await {
            evidence::Sight::There(age) => self.note_stream(age).await,
            evidence::Sight::Gone => {
                if self.stream.is_known() {
                    self.lost().await;
                }
                if let Ok(stream) = self.publisher.bus.tasks_stream().await {
                    self.note_stream(evidence::age(&stream)).await;
                }
            }
            evidence::Sight::Unknown => {}
        }
    }

    async fn note_stream(&mut self, age: i128) {
        if self.stream.is_younger(age) {
            self.lost().await;
        }
        self.stream.meet(age);
    }

    async fn lost(&mut self) {
        tracing::warn!("the stream of tasks was lost");
        self.made.clear();
        self.stream.forget();
        self.tell(Notice::StreamLost).await;
    }

    async fn give_up(&mut self, sending: Sending, reason: String) {
        let (job, node) = (sending.job_id, &sending.node_id);
        tracing::error!(%job, %node, reason, "a task cannot be sent");
        self.tell(Notice::Undeliverable { sending, reason }).await;
    }

    async fn tell(&mut self, notice: Notice) {
        // Nobody listens any more when the process is about to end.
        let _ = self.publisher.notices.send(notice).await;
    }
}
