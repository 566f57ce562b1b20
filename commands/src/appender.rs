//! Group commit: while one commit is in flight, what arrives becomes the next batch. No timer.
//!
//! A batch whose outcome is unknown (the connection broke during the commit) is sent again, unchanged,
//! until it is answered: the log recognises it. Whoever waits for it waits that long.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bus::metric;
use chrono::{DateTime, Utc};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::log::{Append, Batch, CommandOutcome, Committed, Encoding, Log, LogError};

/// Groups that may wait; beyond that, callers do.
const QUEUE_MAX: usize = 16_384;
/// A batch is closed when it has so many events,
const BATCH_EVENTS_MAX: usize = 1_000;
/// or about so many bytes.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Pauses between attempts to reach the database.
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// A group was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Position of the group's last event: whoever has seen it has seen the group.
    pub pos: u64,
    pub at: DateTime<Utc>,
    /// The new version of each stream, in the order of the group.
    pub versions: Vec<u64>,
}

/// A group was not appended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// A stream is not at the expected version, or is closed. All versions as they are now.
    #[error("somebody else wrote to the stream first")]
    Conflict { versions: Vec<u64> },
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the appender was stopped; what became of the group is unknown")]
    Stopped,
}

type Answer = oneshot::Sender<Result<Appended, AppendError>>;

struct Waiting {
    streams: Vec<String>,
    encoding: Encoding,
    answer: Answer,
}

/// Hands groups to the one task that appends. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Appender {
    queue: mpsc::Sender<Waiting>,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting")
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

impl Appender {
    /// Starts the task. After each commit `committed` is told the last position.
    pub fn start(
        log: Arc<dyn Log>,
        shutdown: CancellationToken,
        committed: impl Fn(u64) + Send + 'static,
    ) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let task = tokio::spawn(run(log, waiting, shutdown, committed));
        (Self { queue }, task)
    }

    /// Appends a group, all or nothing, and waits for its commit.
    pub async fn append(&self, group: &[Append]) -> Result<Appended, AppendError> {
        let answer = self.enqueue(group).await?;
        answer.await.unwrap_or(Err(AppendError::Stopped))
    }

    /// Hands a group over and returns what to wait on.
    pub async fn enqueue(
        &self,
        group: &[Append],
    ) -> Result<oneshot::Receiver<Result<Appended, AppendError>>, AppendError> {
        let encoding = Encoding::of(group)?;
        let streams = group.iter().map(|append| append.stream.clone()).collect();
        let (answer, receiver) = oneshot::channel();
        let waiting = Waiting {
            streams,
            encoding,
            answer,
        };
        let sent = self.queue.send(waiting).await;
        sent.map_err(|_| AppendError::Stopped)?;
        Ok(receiver)
    }
}

async fn run(
    log: Arc<dyn Log>,
    mut queue: mpsc::Receiver<Waiting>,
    shutdown: CancellationToken,
    committed: impl Fn(u64),
) {
    let mut held_back = VecDeque::new();
    loop {
        if held_back.is_empty() {
            // What was accepted before the end is still appended: the channel is drained first.
            let first = tokio::select! {
                biased;
                first = queue.recv() => first,
                () = shutdown.cancelled() => None,
            };
            let Some(first) = first else { return };
            held_back.push_back(first);
        }
        while let Ok(next) = queue.try_recv() {
            held_back.push_back(next);
            if held_back.len() >= BATCH_EVENTS_MAX {
                break;
            }
        }
        let (batch, waiting) = collect(&mut held_back);
        let begun = tokio::time::Instant::now();
        match send(&log, &batch, &shutdown).await {
            Ok(done) => {
                measure(&batch, begun.elapsed());
                committed(answer_all(waiting, &batch, &done));
            }
            Err(error) => refuse(&log, waiting, batch, error, &shutdown).await,
        }
    }
}

fn measure(batch: &Batch, took: Duration) {
    let events: usize = batch.commands.iter().map(|c| c.event_count).sum();
    // Far below 2^52.
    metrics::histogram!(metric::APPEND_BATCH_EVENTS).record(events as f64);
    metrics::histogram!(metric::APPEND_DURATION).record(took);
}

/// Takes as many groups as fit; a second group for one stream waits for the next batch.
fn collect(held_back: &mut VecDeque<Waiting>) -> (Batch, Vec<(Vec<usize>, Answer)>) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the shell draws the ids of batches"
    )]
    let mut batch = Batch::new(Uuid::now_v7());
    let mut waiting = Vec::new();
    let mut streams = BTreeSet::new();
    let (mut events, mut bytes) = (0, 0);
    let mut rest = VecDeque::new();
    while let Some(next) = held_back.pop_front() {
        let full = events > 0
            && (events + next.encoding.events > BATCH_EVENTS_MAX
                || bytes + next.encoding.bytes > BATCH_BYTES_MAX);
        let taken = next.streams.iter().any(|s| streams.contains(s));
        if full || taken {
            // Later groups of the same streams must not overtake it.
            streams.extend(next.streams.iter().cloned());
            rest.push_back(next);
            if full {
                break;
            }
            continue;
        }
        events += next.encoding.events;
        bytes += next.encoding.bytes;
        streams.extend(next.streams.iter().cloned());
        let first = batch.commands.len();
        batch.push(next.encoding);
        waiting.push(((first..batch.commands.len()).collect(), next.answer));
    }
    rest.append(held_back);
    *held_back = rest;
    (batch, waiting)
}

/// Sends a batch until it is answered, refused, or the process ends.
async fn send(
    log: &Arc<dyn Log>,
    batch: &Batch,
    shutdown: &CancellationToken,
) -> Result<Committed, LogError> {
    let mut pause = RETRY_FIRST;
    // Once an answer was lost the batch may be in the log, and nothing but its own answer can tell.
    let mut unsure = false;
    loop {
        match log.append(batch).await {
            Err(error)
                if error.is_transient() || unsure && matches!(error, LogError::Refused(_)) =>
            {
                unsure = true;
                metrics::counter!(metric::APPEND_RETRIES).increment(1);
                tracing::warn!(%error, "append is repeated");
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    // It may be in the log: nobody must send it under another name.
                    () = shutdown.cancelled() => {
                        return Err(LogError::Unavailable(error.to_string()));
                    }
                }
                pause = (pause * 2).min(RETRY_MAX);
            }
            other => return other,
        }
    }
}

/// Answers every group of a committed batch; returns the last position.
fn answer_all(waiting: Vec<(Vec<usize>, Answer)>, batch: &Batch, done: &Committed) -> u64 {
    let mut pos = done.first_pos.saturating_sub(1);
    for (commands, answer) in waiting {
        let outcomes = commands.iter().filter_map(|c| done.outcomes.get(*c));
        let mut versions = Vec::with_capacity(commands.len());
        let mut conflict = false;
        for outcome in outcomes {
            match *outcome {
                CommandOutcome::Appended { version } => versions.push(version),
                CommandOutcome::Conflict { version } => {
                    conflict = true;
                    versions.push(version);
                }
            }
        }
        let result = if conflict {
            Err(AppendError::Conflict { versions })
        } else {
            let counts = commands.iter().filter_map(|c| batch.commands.get(*c));
            pos += counts.map(|c| c.event_count as u64).sum::<u64>();
            let at = done.at;
            Ok(Appended { pos, at, versions })
        };
        // A caller that is gone has nothing to learn.
        let _ = answer.send(result);
    }
    pos
}

/// A batch was refused as a whole: one group must be the reason, so each is tried alone.
async fn refuse(
    log: &Arc<dyn Log>,
    waiting: Vec<(Vec<usize>, Answer)>,
    batch: Batch,
    error: LogError,
    shutdown: &CancellationToken,
) {
    if error.is_transient() {
        for (_, answer) in waiting {
            let _ = answer.send(Err(AppendError::Stopped));
        }
        return;
    }
    if waiting.len() == 1 {
        tracing::error!(%error, "an append was refused");
        for (_, answer) in waiting {
            let _ = answer.send(Err(AppendError::Log(error.clone())));
        }
        return;
    }
    for (commands, answer) in waiting {
        #[expect(
            clippy::disallowed_methods,
            reason = "the shell draws the ids of batches"
        )]
        let alone = batch.only(&commands, Uuid::now_v7());
        match send(log, &alone, shutdown).await {
            Ok(done) => {
                let all = (0..alone.commands.len()).collect();
                answer_all(vec![(all, answer)], &alone, &done);
            }
            Err(error) => {
                tracing::error!(%error, "an append was refused");
                let _ = answer.send(Err(AppendError::Log(error)));
            }
        }
    }
}
