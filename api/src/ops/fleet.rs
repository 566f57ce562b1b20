//! Workers and queues as they are now: heard on the heartbeats, and asked from JetStream.
//!
//! Nothing of it is kept anywhere. A worker that says nothing for half a minute is gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bus::Bus;
use bus::async_nats::jetstream::ErrorCode;
use bus::async_nats::jetstream::context::GetStreamErrorKind;
use bus::async_nats::jetstream::stream::Stream;
use domain::message::{Heartbeat, QueueSlots, RunRef};
use domain::priority::Priority;
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A worker that was not heard for so long is gone.
pub const FORGOTTEN_AFTER: Duration = Duration::from_secs(30);
/// Workers that are remembered at once.
const WORKERS_MAX: usize = 10_000;
/// Queues of one worker that are remembered.
const QUEUES_MAX: usize = 64;
/// Parts of one heartbeat follow each other at once.
const SAME_BEAT: Duration = Duration::from_secs(1);
/// Pause before listening again.
const PAUSE: Duration = Duration::from_secs(1);

/// A worker, by its last heartbeat.
#[derive(Debug, Clone)]
pub struct WorkerSeen {
    pub worker_id: String,
    /// Empty when it is about to leave.
    pub slots: Vec<QueueSlots>,
    /// Some of its runs; at most as many as one message names.
    pub runs: Vec<RunRef>,
    /// How many runs it has announced.
    pub running: usize,
    /// Since its last heartbeat.
    pub silence: Duration,
}

/// One priority of one queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSeen {
    pub queue: String,
    pub priority: Priority,
    /// Messages that no worker has taken.
    pub pending: u64,
    /// Messages that workers hold.
    pub in_flight: u64,
    /// How long the oldest message waits that no worker has taken.
    pub oldest_age: Option<Duration>,
}

/// The queues could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("JetStream does not tell about the queues: {0}")]
pub struct QueuesError(String);

/// The workers that are heard. Cheap to clone.
#[derive(Clone, Default)]
pub struct Fleet {
    workers: Arc<Mutex<HashMap<String, Entry>>>,
}

struct Entry {
    slots: Vec<QueueSlots>,
    runs: Vec<RunRef>,
    running: usize,
    heard: Instant,
    /// The last part was full, so that another one follows.
    continues: bool,
}

impl Fleet {
    /// Listens to heartbeats until the end.
    #[must_use]
    pub fn listen(bus: Bus, shutdown: CancellationToken) -> Self {
        let fleet = Self::default();
        tokio::spawn(hear(bus, fleet.clone(), shutdown));
        fleet
    }

    /// Everybody who was heard lately, by name.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerSeen> {
        let mut entries = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| entry.heard.elapsed() < FORGOTTEN_AFTER);
        let seen = entries.iter().map(|(worker_id, entry)| WorkerSeen {
            worker_id: worker_id.clone(),
            slots: entry.slots.clone(),
            runs: entry.runs.clone(),
            running: entry.running,
            silence: entry.heard.elapsed(),
        });
        let mut seen: Vec<_> = seen.collect();
        drop(entries);
        seen.sort_by(|a, b| a.worker_id.cmp(&b.worker_id));
        seen
    }

    fn heard(&self, beat: Heartbeat) {
        let mut entries = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if beat.slots.is_empty() && beat.runs.is_empty() {
            // Its last word.
            entries.remove(&beat.worker_id);
            return;
        }
        if entries.len() >= WORKERS_MAX && !entries.contains_key(&beat.worker_id) {
            entries.retain(|_, entry| entry.heard.elapsed() < FORGOTTEN_AFTER);
            if entries.len() >= WORKERS_MAX {
                return;
            }
        }
        let continues = beat.runs.len() >= Heartbeat::RUNS_MAX;
        if let Some(entry) = entries.get_mut(&beat.worker_id)
            && entry.continues
            && entry.heard.elapsed() < SAME_BEAT
        {
            entry.running += beat.runs.len();
            entry.continues = continues;
            entry.heard = Instant::now();
            return;
        }
        let entry = Entry {
            running: beat.runs.len(),
            slots: beat.slots.into_iter().take(QUEUES_MAX).collect(),
            runs: beat.runs.into_iter().take(Heartbeat::RUNS_MAX).collect(),
            heard: Instant::now(),
            continues,
        };
        entries.insert(beat.worker_id, entry);
    }
}

async fn hear(bus: Bus, fleet: Fleet, shutdown: CancellationToken) {
    while !shutdown.is_cancelled() {
        match bus.client.subscribe(bus.subjects.heartbeats()).await {
            Ok(mut beats) => loop {
                let beat = tokio::select! {
                    () = shutdown.cancelled() => return,
                    beat = beats.next() => beat,
                };
                let Some(beat) = beat else { break };
                match serde_json::from_slice(&beat.payload) {
                    Ok(beat) => fleet.heard(beat),
                    Err(error) => tracing::debug!(%error, "a heartbeat that is none"),
                }
            },
            Err(error) => tracing::debug!(%error, "heartbeats cannot be heard"),
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// All queues with their priorities; none while there is no stream.
pub async fn queues(bus: &Bus) -> Result<Vec<QueueSeen>, QueuesError> {
    let failed = |error: &dyn std::fmt::Display| QueuesError(error.to_string());
    let name = bus.subjects.tasks_stream();
    let stream = match bus.jetstream.get_stream(name).await {
        Ok(stream) => stream,
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                return Ok(Vec::new());
            }
            _ => return Err(failed(&error)),
        },
    };
    let now = unix_nanos();
    let mut seen = Vec::new();
    let mut consumers = stream.consumers();
    while let Some(consumer) = consumers.try_next().await.map_err(|e| failed(&e))? {
        let Some((queue, priority)) = lane(&consumer.name) else {
            continue;
        };
        let after = consumer.delivered.stream_sequence;
        let oldest_age = if consumer.num_pending > 0 {
            let subject = bus.subjects.tasks(queue, priority);
            oldest(&stream, subject, after).await.map(|sent| {
                let nanos = u64::try_from(now.saturating_sub(sent)).unwrap_or(0);
                Duration::from_nanos(nanos)
            })
        } else {
            None
        };
        seen.push(QueueSeen {
            queue: queue.to_owned(),
            priority,
            pending: consumer.num_pending,
            in_flight: u64::try_from(consumer.num_ack_pending).unwrap_or(u64::MAX),
            oldest_age,
        });
    }
    seen.sort_by(|a, b| (&a.queue, a.priority.as_str()).cmp(&(&b.queue, b.priority.as_str())));
    Ok(seen)
}

/// The queue and the priority in the name of a consumer.
fn lane(consumer: &str) -> Option<(&str, Priority)> {
    let (queue, word) = consumer.rsplit_once('_')?;
    let priority = serde_json::from_value(serde_json::Value::from(word)).ok()?;
    Some((queue, priority))
}

/// When the first message was sent that nobody has taken. It may be taken meanwhile.
async fn oldest(stream: &Stream, subject: String, after: u64) -> Option<i128> {
    let next = stream.direct_get_next_for_subject(subject, Some(after + 1));
    Some(next.await.ok()?.time.unix_timestamp_nanos())
}

/// The time of day, to compare with that of the server; in nanoseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "the age of a message is shown to people, and nothing is decided by it"
)]
fn unix_nanos() -> i128 {
    let now = chrono::Utc::now();
    now.timestamp_nanos_opt().map_or(0, i128::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(worker: &str, slots: u32, runs: usize) -> Heartbeat {
        let run: RunRef = serde_json::from_value(serde_json::json!({
            "job_id": "job_00000000000000000000000000000007", "node_id": "n", "attempt": 1, "epoch": 1,
            "run_id": "16fd2706-8baf-433b-82eb-8c7fada847da",
        }))
        .unwrap();
        let slots = (slots > 0).then(|| QueueSlots {
            queue: "q".to_owned(),
            slots,
        });
        Heartbeat {
            worker_id: worker.to_owned(),
            slots: slots.into_iter().collect(),
            runs: vec![run; runs],
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_is_known_while_it_is_heard() {
        let fleet = Fleet::default();
        fleet.heard(beat("b", 4, 1));
        fleet.heard(beat("a", 2, 0));
        let names = |fleet: &Fleet| {
            let workers = fleet.workers().into_iter();
            workers.map(|w| w.worker_id).collect::<Vec<_>>()
        };
        assert_eq!(names(&fleet), ["a", "b"]);
        tokio::time::advance(Duration::from_secs(20)).await;
        fleet.heard(beat("a", 2, 0));
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(names(&fleet), ["a"]);
        // It leaves: first without places, then without runs.
        fleet.heard(beat("a", 0, 3));
        assert_eq!(fleet.workers()[0].running, 3);
        fleet.heard(beat("a", 0, 0));
        assert_eq!(names(&fleet), Vec::<String>::new());
    }

    #[tokio::test(start_paused = true)]
    async fn parts_of_one_heartbeat_are_added_and_the_next_one_begins_anew() {
        let fleet = Fleet::default();
        fleet.heard(beat("a", 2, Heartbeat::RUNS_MAX));
        fleet.heard(beat("a", 2, 5));
        let seen = fleet.workers().remove(0);
        assert_eq!(seen.running, Heartbeat::RUNS_MAX + 5);
        assert_eq!(seen.runs.len(), Heartbeat::RUNS_MAX);
        tokio::time::advance(Duration::from_secs(5)).await;
        fleet.heard(beat("a", 2, 7));
        assert_eq!(fleet.workers()[0].running, 7);
    }

    #[test]
    fn the_name_of_a_consumer_is_its_queue_and_priority() {
        assert_eq!(
            lane("container-tasks_low"),
            Some(("container-tasks", Priority::Low))
        );
        assert_eq!(lane("orchestrators"), None);
        assert_eq!(lane("a_b"), None);
    }
}
