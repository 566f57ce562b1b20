//! One run's line to its owner: started once, checkpoints, and one last word, in this order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::failure::{Failure, FailureClass};
use domain::id::RunId;
use domain::job::checkpoint::Checkpoint;
use domain::message::{Refusal, ReportMessage, ReportOutcome, TaskMessage};
use tokio::sync::OnceCell;

use super::reporter::{Reporter, Verdict};

/// How often a last word may be answered with "not started" before that is taken as the answer.
const NOT_STARTED_MAX: u32 = 3;

/// How long the owner may take to take a task back.
const RELEASE_WAIT: Duration = Duration::from_secs(5);

/// The line of one run.
pub(crate) struct Link {
    reporter: Arc<Reporter>,
    task: Arc<TaskMessage>,
    run: RunId,
    announced: AtomicBool,
    started: OnceCell<Verdict>,
}

impl Link {
    pub(super) fn new(reporter: &Arc<Reporter>, task: &Arc<TaskMessage>, run: RunId) -> Self {
        Self {
            reporter: Arc::clone(reporter),
            task: Arc::clone(task),
            run,
            announced: AtomicBool::new(false),
            started: OnceCell::new(),
        }
    }

    pub(super) fn run(&self) -> RunId {
        self.run
    }

    /// Whether the owner may know of this run.
    pub(super) fn is_announced(&self) -> bool {
        self.announced.load(Ordering::Acquire)
    }

    /// Reports the start, once; everyone who asks gets the one answer.
    pub(super) async fn announce(&self) -> Verdict {
        self.announced.store(true, Ordering::Release);
        let send = || self.send(ReportOutcome::Started);
        self.started.get_or_init(send).await.clone()
    }

    /// Saves a checkpoint; fails when the run no longer counts.
    pub(crate) async fn checkpoint(&self, checkpoint: Checkpoint) -> Result<(), Failure> {
        let mut verdict = self.announce().await;
        if verdict == Verdict::Applied {
            verdict = self.send(ReportOutcome::Checkpoint { checkpoint }).await;
        }
        let gone = |message: &str| Failure::new(FailureClass::Cancelled, "cancelled", message);
        match verdict {
            Verdict::Applied => Ok(()),
            Verdict::Refused(Refusal::Invalid, message) => Err(Failure::new(
                FailureClass::Contract,
                "checkpoint_refused",
                &message,
            )),
            Verdict::Refused(_, message) => Err(gone(&message)),
            Verdict::Settled => Err(gone("the job has ended")),
            Verdict::Unanswered => Err(gone("the worker leaves")),
        }
    }

    /// Hands the task back; nothing to do if the owner never heard of this run.
    pub(super) async fn release(&self) -> Verdict {
        if !self.is_announced() {
            return Verdict::Unanswered;
        }
        let released = async {
            match self.announce().await {
                Verdict::Applied => self.send(ReportOutcome::Released).await,
                verdict => verdict,
            }
        };
        // An owner that is gone must not hold up the leaving; its heir finds the run lost.
        let released = tokio::time::timeout(RELEASE_WAIT, released).await;
        released.unwrap_or(Verdict::Unanswered)
    }

    /// Reports the end, after the start was answered if it was sent.
    pub(super) async fn finish(&self, outcome: ReportOutcome) -> Verdict {
        if self.is_announced() {
            let verdict = self.announce().await;
            if verdict != Verdict::Applied {
                return verdict;
            }
        }
        let mut outcome = outcome;
        let mut not_started = 0;
        let mut corrected = false;
        loop {
            match self.send(outcome.clone()).await {
                Verdict::Refused(Refusal::NotStarted, message) => {
                    not_started += 1;
                    if not_started > NOT_STARTED_MAX {
                        return Verdict::Refused(Refusal::Invalid, message);
                    }
                    let verdict = self.announce().await;
                    if verdict != Verdict::Applied {
                        return verdict;
                    }
                }
                Verdict::Refused(Refusal::Invalid, message) if !corrected => {
                    corrected = true;
                    let task_id = &self.task.task_id;
                    tracing::error!(task_id, message, "the owner cannot accept a result");
                    let message = format!("the owner cannot accept the result: {message}");
                    outcome = ReportOutcome::Failed {
                        failure: Failure::new(FailureClass::Contract, "report_refused", &message),
                    };
                }
                verdict => return verdict,
            }
        }
    }

    async fn send(&self, outcome: ReportOutcome) -> Verdict {
        let report = ReportMessage {
            job_id: self.task.job_id,
            node_id: self.task.node_id.clone(),
            attempt: self.task.attempt,
            epoch: self.task.epoch,
            run_id: self.run,
            worker_id: self.reporter.worker_id.clone(),
            outcome,
        };
        self.reporter.send(&report, self.task.owner).await
    }
}
