//! What a worker is told at start.

use std::path::PathBuf;
use std::time::Duration;

use bus::{Bus, InvalidQueue, check_queue};
use domain::message::QueueSlots;

use crate::handler::Registry;
use crate::store::Store;

/// Everything a worker needs.
pub struct Options {
    pub bus: Bus,
    /// Unique among all workers; part of a subject: letters, digits, `-` and `_`.
    pub worker_id: String,
    /// Which queues it serves, with how many tasks at once.
    pub queues: Vec<QueueSlots>,
    pub registry: Registry,
    pub store: Store,
    /// Directory below which runs get their scratch directories.
    pub scratch: PathBuf,
    /// Leave when nothing ran for so long.
    pub idle_timeout: Option<Duration>,
    pub timing: Timing,
}

/// How patient a worker is. The defaults are those of the design; tests use shorter ones.
#[derive(Debug, Clone)]
pub struct Timing {
    /// Between two signs of life.
    pub heartbeat: Duration,
    /// Between two in-progress acks of one message.
    pub in_progress: Duration,
    /// How long the owner may take to answer.
    pub report_timeout: Duration,
    /// Longest wait between two tries to report.
    pub report_backoff_max: Duration,
    /// A run that folds start and end into one report announces itself after so long.
    pub announce_after: Duration,
    /// How long a task waits that somebody else is running.
    pub already_running_delay: Duration,
    /// How long the server holds a request for messages.
    pub pull_expires: Duration,
    /// Between two writings of an attempt's log.
    pub log_flush: Duration,
    /// How long handlers may take to end when the worker leaves.
    pub shutdown_grace: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(5),
            in_progress: bus::ACK_WAIT / 3,
            report_timeout: Duration::from_secs(2),
            report_backoff_max: Duration::from_secs(2),
            announce_after: Duration::from_secs(1),
            already_running_delay: Duration::from_secs(10),
            pull_expires: Duration::from_secs(30),
            log_flush: Duration::from_secs(3),
            // With the farewells after it, less than the 30 s that are usual before a kill.
            shutdown_grace: Duration::from_secs(22),
        }
    }
}

/// Why a worker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("a worker needs at least one queue")]
    NoQueue,
    #[error("the queue `{0}` is given twice")]
    QueueTwice(String),
    #[error("the queue `{0}` has no slots")]
    NoSlots(String),
    #[error(transparent)]
    Queue(#[from] InvalidQueue),
    #[error("`{0}` is not the id of a worker: 1 to 128 letters, digits, `-` and `_`")]
    WorkerId(String),
    #[error("cannot use the scratch directory {path}: {reason}")]
    Scratch { path: String, reason: String },
    #[error("another worker with the id `{0}` runs here")]
    Twice(String),
    #[error("cannot start the thread of heartbeats: {0}")]
    Thread(std::io::Error),
}

impl Options {
    pub(super) fn check(&self) -> Result<(), StartError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if !(1..=128).contains(&self.worker_id.len()) || !self.worker_id.bytes().all(plain) {
            let shown = self.worker_id.chars().take(80).collect();
            return Err(StartError::WorkerId(shown));
        }
        if self.queues.is_empty() {
            return Err(StartError::NoQueue);
        }
        let mut seen = std::collections::BTreeSet::new();
        for QueueSlots { queue, slots } in &self.queues {
            check_queue(queue)?;
            if *slots == 0 {
                return Err(StartError::NoSlots(queue.clone()));
            }
            if !seen.insert(queue) {
                return Err(StartError::QueueTwice(queue.clone()));
            }
        }
        Ok(())
    }
}
