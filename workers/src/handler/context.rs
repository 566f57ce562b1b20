//! What a handler is given besides its parameters.

use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use domain::failure::{Failure, FailureClass};
use domain::id::{JobId, NodeId, RunId};
use domain::job::checkpoint::{CHECKPOINT_BYTES_MAX, Checkpoint, Progress};
use domain::json::{clean_text, size_bytes};
use domain::message::TaskMessage;
use serde_json::Value;
use tokio::runtime::Handle;

use super::cancel::{Cancel, CancelReason};
use super::log::{AttemptLog, Level};
use super::resume::{Phase, Resume};
use super::scratch::Scratch;
use crate::runtime::Link;
use crate::store::Store;

/// One run, as its handler sees it.
pub struct Context {
    parts: Parts,
    seq: AtomicU64,
    progress: Mutex<Option<Progress>>,
    runtime: Handle,
}

/// What a context is made of.
pub(crate) struct Parts {
    pub(crate) task: Arc<TaskMessage>,
    pub(crate) run: RunId,
    pub(crate) cancel: Cancel,
    pub(crate) store: Store,
    pub(crate) log: AttemptLog,
    pub(crate) scratch: Scratch,
    pub(crate) link: Arc<Link>,
}

impl Context {
    pub(crate) fn new(parts: Parts) -> Self {
        let seq = parts.task.checkpoint.as_ref().map_or(0, |last| last.seq);
        Self {
            parts,
            seq: AtomicU64::new(seq),
            progress: Mutex::new(None),
            runtime: Handle::current(),
        }
    }

    /// `{job_id}_{node_id}_{attempt}`
    #[must_use]
    pub fn task_id(&self) -> &str {
        &self.parts.task.task_id
    }

    #[must_use]
    pub fn job_id(&self) -> JobId {
        self.parts.task.job_id
    }

    #[must_use]
    pub fn node_id(&self) -> &NodeId {
        &self.parts.task.node_id
    }

    /// The attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.parts.task.attempt
    }

    /// This execution of the attempt.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        self.parts.run
    }

    /// The parameters exactly as they were sent.
    #[must_use]
    pub fn raw_params(&self) -> &Value {
        &self.parts.task.params
    }

    /// The wish that this run ends.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.parts.cancel
    }

    /// Fails when the run should end; for loops.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(reason) = self.parts.cancel.reason() else {
            return Ok(());
        };
        let message = match reason {
            CancelReason::Shutdown => "the worker leaves",
            CancelReason::Timeout => "it took longer than allowed",
            CancelReason::Stopped => "its result no longer counts",
        };
        Err(Failure::new(FailureClass::Cancelled, "cancelled", message))
    }

    /// Waits for a future, but fails as soon as the run should end.
    pub async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = self.parts.cancel.cancelled() => Err(self.check().err().unwrap_or_else(|| {
                Failure::new(FailureClass::Cancelled, "cancelled", "the run should end")
            })),
            value = future => Ok(value),
        }
    }

    /// Waits for a future on the thread of a blocking handler.
    ///
    /// Handlers that are async themselves await it instead: there it would panic.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Tells how far the work is; the next checkpoint carries it.
    pub fn progress(&self, current: u64, total: u64, message: &str) {
        let progress = Progress {
            current,
            total,
            message: clean_text(message),
        };
        tracing::debug!(
            task_id = self.task_id(),
            current,
            total,
            message,
            "progress"
        );
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// Where an earlier run of this task had come to, with its artifacts verified.
    pub async fn load_checkpoint(&self) -> Option<Resume> {
        let checkpoint = self.parts.task.checkpoint.as_ref()?;
        Some(Resume::verify(checkpoint, &self.parts.store).await)
    }

    /// Saves where this run has come to; returns when it is in the log.
    ///
    /// Its artifacts must exist. It fails when the run no longer counts: then return that failure.
    pub async fn save_checkpoint(&self, phase: Phase) -> Result<(), Failure> {
        for artifact in &phase.artifacts {
            self.parts.store.verify(&artifact.uri, None).await?;
        }
        let progress = {
            let latest = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            latest.clone()
        };
        let checkpoint = Checkpoint {
            seq: self.seq.fetch_add(1, Ordering::Relaxed) + 1,
            phase: phase.name,
            phase_index: phase.index,
            phases_total: phase.total,
            progress,
            state: phase.state,
            artifacts: phase.artifacts,
            is_final: phase.is_final,
        };
        let bytes = size_bytes(&checkpoint);
        if bytes > CHECKPOINT_BYTES_MAX {
            let message = format!(
                "the checkpoint has {bytes} bytes, {CHECKPOINT_BYTES_MAX} are allowed; \
                 store its state and save where it lies"
            );
            return Err(Failure::new(
                FailureClass::Contract,
                "checkpoint_too_large",
                &message,
            ));
        }
        self.parts.link.checkpoint(checkpoint).await
    }

    /// The object store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.parts.store
    }

    /// The key for a file of this run: no other run, not even of the same attempt, writes there.
    #[must_use]
    pub fn output_key(&self, name: &str) -> String {
        format!("outputs/{}/{}/{name}", self.task_id(), self.run_id())
    }

    /// A private directory, deleted after the run.
    pub fn scratch(&self) -> Result<&Path, Failure> {
        self.parts.scratch.path()
    }

    /// Whether there is a directory to delete.
    pub(crate) fn has_scratch(&self) -> bool {
        self.parts.scratch.is_made()
    }

    /// The log of the attempt.
    #[must_use]
    pub fn log(&self) -> &AttemptLog {
        &self.parts.log
    }

    /// Adds a line to the log of the attempt.
    pub fn info(&self, message: &str) {
        self.parts.log.line(Level::Info, message);
    }
}
