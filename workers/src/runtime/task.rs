//! The life of one message: read, announce, run, report, acknowledge.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::message::Acker;
use async_nats::jetstream::{AckKind, Message};
use domain::failure::{Failure, FailureClass};
use domain::message::{Manifest, Refusal, ReportOutcome, TaskMessage};
use futures_util::future::OptionFuture;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};
use tracing::Instrument;

use super::Worker;
use super::decode::decode;
use super::execute::{self, Execution};
use super::link::Link;
use super::reporter::Verdict;
use super::slots::{Queue, Slot};
use super::{dead, measure, outcome, results};
use crate::clock;
use crate::handler::{
    AttemptLog, Cancel, CancelReason, Context, Entry, Finished, Level, Parts, Scratch, prepare,
};

/// A start that its owner calls invalid is tried so often before the message is a dead letter.
const INVALID_STARTS_MAX: i64 = 10;

/// How long a leaving worker waits for the answer to a start.
const LAST_ANSWER: Duration = Duration::from_secs(2);

/// One delivery of a task.
struct Run {
    worker: Arc<Worker>,
    task: Arc<TaskMessage>,
    link: Arc<Link>,
    cancel: Cancel,
    log: AttemptLog,
    first_delivery: bool,
}

/// How the handler's part ended.
enum End {
    Returned(Result<Finished, Failure>),
    TimedOut,
    /// The owner does not want this run.
    Refused(Verdict),
    Stopped,
    Abandoned,
}

/// Deals with one message from beginning to end.
pub(super) async fn deal(worker: Arc<Worker>, queue: Arc<Queue>, slot: Slot, message: Message) {
    let delivered = message.info().map_or(1, |info| info.delivered);
    let (message, acker) = message.split();
    let task = match decode(&queue.name, &message.payload) {
        Ok(task) => Arc::new(task),
        Err(reason) => return dead::bury(&worker, &message, &acker, &reason).await,
    };
    let run_id = clock::fresh_run();
    let link = Arc::new(Link::new(&worker.reporter, &task, run_id));
    let cancel = Cancel::default();
    let _listed = worker
        .board
        .add(&task, &link, &cancel, message.reply.clone());
    if worker.shutdown.is_cancelled() {
        cancel.cancel(CancelReason::Shutdown);
    }
    let inherits = delivered > 1 || task.epoch > 1;
    let log = AttemptLog::new(worker.store.clone(), &task.task_id, run_id, inherits);
    let span = measure::span_of(&task, run_id);
    let run = Run {
        worker: Arc::clone(&worker),
        task,
        link,
        cancel,
        log,
        first_delivery: delivered == 1,
    };
    let end = async {
        let verdict = run.live(&queue, slot).await;
        if let Verdict::Refused(Refusal::Invalid, reason) = &verdict
            && delivered >= INVALID_STARTS_MAX
        {
            let reason = format!("its owner does not know it: {reason}");
            return dead::bury(&worker, &message, &acker, &reason).await;
        }
        bus::fault::point("reported-not-acked");
        acknowledge(&worker, &acker, &verdict).await;
    };
    end.instrument(span).await;
}

async fn acknowledge(worker: &Worker, acker: &Acker, verdict: &Verdict) {
    let later = AckKind::Nak(Some(worker.timing.already_running_delay));
    let kind = match verdict {
        Verdict::Applied | Verdict::Settled => AckKind::Ack,
        Verdict::Refused(Refusal::AlreadyRunning, _) => later,
        Verdict::Refused(Refusal::Superseded, _) => AckKind::Ack,
        Verdict::Refused(Refusal::Invalid | Refusal::NotStarted, message) => {
            tracing::error!(message, "the owner refuses a report");
            later
        }
        Verdict::Unanswered => AckKind::Nak(None),
    };
    if let Err(error) = acker.ack_with(kind).await {
        tracing::debug!(%error, "a message was not acknowledged; it comes again");
    }
}

impl Run {
    /// Runs the task and reports; says what that came to.
    async fn live(&self, queue: &Queue, slot: Slot) -> Verdict {
        let name = &self.task.handler;
        let Some(entry) = self.worker.registry.find(name).map(Arc::clone) else {
            let message = format!("this worker has no handler `{name}`");
            let failure = Failure::new(FailureClass::Permanent, "unknown_handler", &message);
            return self
                .report(queue, slot.into(), outcome::failed(failure))
                .await;
        };
        let manifest = results::manifest(&self.task.params);
        // What takes its time must be announced.
        let folds = entry.declared.idempotent && self.first_delivery && manifest.is_none();
        if !folds {
            let verdict = tokio::select! {
                biased;
                verdict = self.link.announce() => verdict,
                // Nothing has begun: it goes back as it is.
                () = self.leaves_soon() => Verdict::Unanswered,
            };
            if verdict != Verdict::Applied {
                return verdict;
            }
        }
        if self.worker.shutdown.is_cancelled() {
            return self.link.release().await;
        }
        let params = match self.prepared(&entry, manifest).await {
            Ok(Ok(params)) => params,
            Err(verdict) => return verdict,
            Ok(Err(failure)) => return self.report(queue, slot.into(), self.failed(failure)).await,
        };
        bus::fault::point("started-handler");
        let slot = Arc::new(slot);
        let clock = measure::begun(&queue.name);
        let mut execution = execute::start(&entry, self.context(), params, Arc::clone(&slot));
        let end = self.watch(&mut execution, folds).await;
        clock.stop();
        let outcome = match end {
            End::Returned(Ok(finished)) => self.completed(&entry, finished).await,
            End::Returned(Err(failure)) if self.hands_back(&failure) => {
                self.log.line(Level::Info, "handed back: the worker leaves");
                self.log.flush().await;
                // Its owner sends it again at once; a message that it never heard of goes back instead.
                return self.link.release().await;
            }
            End::Returned(Err(failure)) => self.failed(failure),
            End::TimedOut => {
                if !execution.abandon() {
                    queue.hangs(&slot, &self.task.handler);
                }
                self.failed(self.timeout())
            }
            End::Refused(verdict) => {
                self.cancel.cancel(CancelReason::Stopped);
                execution.abandon();
                self.flush_aside();
                return verdict;
            }
            End::Stopped => {
                execution.abandon();
                tracing::info!("stopped: its result no longer counts");
                self.log
                    .line(Level::Info, "stopped: its result no longer counts");
                self.flush_aside();
                return Verdict::Settled;
            }
            End::Abandoned => {
                execution.abandon();
                return Verdict::Unanswered;
            }
        };
        self.report(queue, slot, outcome).await
    }

    /// The worker leaves, and an answer that is on its way had its time.
    async fn leaves_soon(&self) {
        self.worker.shutdown.cancelled().await;
        tokio::time::sleep(LAST_ANSWER).await;
    }

    /// The same, unless something else comes first: fetching results may take its time.
    async fn prepared(
        &self,
        entry: &Entry,
        manifest: Option<(&'static str, Manifest)>,
    ) -> Result<Result<Map<String, Value>, Failure>, Verdict> {
        let limit = Duration::from_secs(u64::from(self.task.timeout_seconds));
        tokio::select! {
            biased;
            params = self.params(entry, manifest) => Ok(params),
            () = self.worker.shutdown.cancelled() => Err(self.link.release().await),
            () = self.cancel.stopped() => Err(Verdict::Settled),
            () = tokio::time::sleep(limit) => Ok(Err(self.timeout())),
        }
    }

    /// What the handler is given: complete, and checked against its declaration.
    async fn params(
        &self,
        entry: &Entry,
        manifest: Option<(&'static str, Manifest)>,
    ) -> Result<Map<String, Value>, Failure> {
        let Some(manifest) = manifest else {
            return prepare(&entry.declared, &self.task.params);
        };
        let params = results::fetch(&self.worker, &self.task.params, &manifest).await?;
        prepare(&entry.declared, &params)
    }

    /// Waits for the handler, its time limit, or a word from outside.
    async fn watch(&self, execution: &mut Execution, folds: bool) -> End {
        let timing = &self.worker.timing;
        let begun = Instant::now();
        let limit = begun + Duration::from_secs(u64::from(self.task.timeout_seconds));
        let mut announce_at = folds.then(|| begun + timing.announce_after);
        let mut flush_at = begun + timing.log_flush;
        let mut announcing = OptionFuture::default();
        loop {
            let wake = announce_at
                .map_or(flush_at, |at| at.min(flush_at))
                .min(limit);
            tokio::select! {
                biased;
                result = &mut execution.result => {
                    return End::Returned(result.unwrap_or_else(|_| Err(execute::lost())));
                }
                () = self.cancel.stopped() => return End::Stopped,
                () = self.worker.abandon.cancelled() => return End::Abandoned,
                Some(verdict) = &mut announcing => {
                    announcing = OptionFuture::default();
                    if verdict != Verdict::Applied {
                        return End::Refused(verdict);
                    }
                }
                () = sleep_until(wake) => {
                    let now = Instant::now();
                    if now >= limit {
                        self.cancel.cancel(CancelReason::Timeout);
                        return End::TimedOut;
                    }
                    if announce_at.is_some_and(|at| now >= at) {
                        announce_at = None;
                        announcing = Some(Box::pin(self.link.announce())).into();
                    }
                    if now >= flush_at {
                        flush_at = now + timing.log_flush;
                        self.flush_aside();
                    }
                }
            }
        }
    }

    /// Tells the owner. The slot is free as soon as the report may wait without it.
    async fn report(&self, queue: &Queue, slot: Arc<Slot>, outcome: ReportOutcome) -> Verdict {
        measure::ended(&queue.name, &outcome);
        let permit = queue.reports.acquire().await;
        drop(slot);
        self.log.flush().await;
        let verdict = tokio::select! {
            biased;
            verdict = self.link.finish(outcome) => verdict,
            () = self.cancel.stopped() => Verdict::Settled,
        };
        drop(permit);
        tracing::debug!(?verdict, "reported");
        match verdict {
            // It was converted to a failure before, and even that is refused.
            Verdict::Refused(Refusal::Invalid | Refusal::NotStarted, message) => {
                tracing::error!(message, "the owner refuses the report: it is dropped");
                Verdict::Settled
            }
            other => other,
        }
    }

    fn context(&self) -> Context {
        Context::new(Parts {
            task: Arc::clone(&self.task),
            run: self.link.run(),
            cancel: self.cancel.clone(),
            store: self.worker.store.clone(),
            log: self.log.clone(),
            scratch: Scratch::new(self.worker.scratch.join(self.link.run().to_string())),
            link: Arc::clone(&self.link),
        })
    }

    async fn completed(&self, entry: &Entry, finished: Finished) -> ReportOutcome {
        let store = &self.worker.store;
        outcome::report(&self.task, &self.link, &entry.declared, store, finished).await
    }

    fn failed(&self, failure: Failure) -> ReportOutcome {
        let Failure {
            class,
            code,
            message,
            ..
        } = &failure;
        // Its owner decides whether it is tried again, and says so when it is not. The message may quote inputs and
        // names of files: it belongs to the event and to the log of the attempt, which are the organisation's.
        tracing::info!(handler = self.task.handler, ?class, code, "a run failed");
        self.log.line(Level::Error, &format!("{code}: {message}"));
        outcome::failed(failure)
    }

    fn timeout(&self) -> Failure {
        let seconds = self.task.timeout_seconds;
        let message = format!("the handler took longer than {seconds} s");
        Failure::new(FailureClass::Timeout, "execution_timeout", &message)
    }

    /// Whether a failure only says that the handler did as it was told when the worker leaves.
    fn hands_back(&self, failure: &Failure) -> bool {
        failure.class == FailureClass::Cancelled
            && self.cancel.reason() == Some(CancelReason::Shutdown)
    }

    /// Writes the log without holding up anything else.
    fn flush_aside(&self) {
        if self.log.is_dirty() {
            let log = self.log.clone();
            self.worker.tasks.spawn(async move { log.flush().await });
        }
    }
}
