//! Which runs are alive: what the heart tells, and what can be asked to end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::Subject;
use domain::id::RunId;
use domain::message::{RunRef, StopRuns, TaskMessage};

use super::link::Link;
use crate::handler::{Cancel, CancelReason};

/// All runs of a worker, from the message to its acknowledgement.
#[derive(Default)]
pub(super) struct Board {
    runs: Mutex<HashMap<RunId, Held>>,
    begun: AtomicU64,
}

/// One run and the message that it answers.
struct Held {
    task: Arc<TaskMessage>,
    link: Arc<Link>,
    cancel: Cancel,
    /// Where its acks go.
    ack: Option<Subject>,
}

/// Takes the run off the board when it is over.
pub(super) struct Listed {
    board: Arc<Board>,
    run: RunId,
}

impl Board {
    pub(super) fn add(
        self: &Arc<Self>,
        task: &Arc<TaskMessage>,
        link: &Arc<Link>,
        cancel: &Cancel,
        ack: Option<Subject>,
    ) -> Listed {
        let held = Held {
            task: Arc::clone(task),
            link: Arc::clone(link),
            cancel: cancel.clone(),
            ack,
        };
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(link.run(), held);
        Listed {
            board: Arc::clone(self),
            run: link.run(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// How many runs there were since the start.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// The runs that their owners know of.
    pub(super) fn announced(&self) -> Vec<RunRef> {
        let runs = self.lock();
        let known = runs.iter().filter(|(_, held)| held.link.is_announced());
        known
            .map(|(run, held)| RunRef {
                job_id: held.task.job_id,
                node_id: held.task.node_id.clone(),
                attempt: held.task.attempt,
                epoch: held.task.epoch,
                run_id: *run,
            })
            .collect()
    }

    /// Where to say that work goes on, for every message held.
    pub(super) fn acks(&self) -> Vec<Subject> {
        let runs = self.lock();
        runs.values().filter_map(|held| held.ack.clone()).collect()
    }

    pub(super) fn stop(&self, order: &StopRuns) {
        let runs = self.lock();
        for held in order.runs.iter().filter_map(|run| runs.get(run)) {
            held.cancel.cancel(CancelReason::Stopped);
        }
    }

    pub(super) fn cancel_all(&self, reason: CancelReason) {
        for held in self.lock().values() {
            held.cancel.cancel(reason);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Held>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.board.lock().remove(&self.run);
    }
}
