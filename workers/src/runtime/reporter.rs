//! Finds the owner of a job and repeats a report until it is answered.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_nats::Request;
use bus::Bus;
use bytes::Bytes;
use domain::id::{JobId, OwnerId};
use domain::message::{Refusal, ReportMessage, ReportReply, WhereIs, Whereabouts};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::options::Timing;
use crate::clock;

/// How many jobs may have an owner other than their messages say before all are asked for again.
const OWNERS_MAX: usize = 10_000;
/// First wait between two tries.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);

/// The voice of a worker.
pub(crate) struct Reporter {
    bus: Bus,
    pub(super) worker_id: String,
    timing: Timing,
    abandon: CancellationToken,
    /// Owners that took over after the message was sent.
    owners: Mutex<HashMap<JobId, OwnerId>>,
}

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is in the log.
    Applied,
    Refused(Refusal, String),
    /// The job has ended: nothing can count any more.
    Settled,
    /// The worker leaves and nobody has answered.
    Unanswered,
}

/// What one try came to.
enum Step {
    End(Verdict),
    /// Another owner: try it at once.
    Again,
    /// Try again after this, or after the usual wait.
    Wait(Option<Duration>),
}

impl Reporter {
    pub(super) fn new(
        bus: Bus,
        worker_id: String,
        timing: Timing,
        abandon: CancellationToken,
    ) -> Self {
        Self {
            bus,
            worker_id,
            timing,
            abandon,
            owners: Mutex::default(),
        }
    }

    /// Sends a report to whoever owns the job, `first` at first, until it is answered.
    pub(super) async fn send(&self, report: &ReportMessage, first: OwnerId) -> Verdict {
        let payload = match serde_json::to_vec(report) {
            Ok(payload) => Bytes::from(payload),
            Err(error) => return Verdict::Refused(Refusal::Invalid, error.to_string()),
        };
        tokio::select! {
            biased;
            verdict = self.insist(report.job_id, first, payload) => verdict,
            () = self.abandon.cancelled() => Verdict::Unanswered,
        }
    }

    async fn insist(&self, job: JobId, first: OwnerId, payload: Bytes) -> Verdict {
        let mut backoff = BACKOFF_FIRST;
        loop {
            let pause = match self.attempt(job, first, payload.clone()).await {
                Step::End(verdict) => return verdict,
                Step::Again => continue,
                Step::Wait(Some(pause)) => pause,
                Step::Wait(None) => {
                    backoff = (backoff * 2).min(self.timing.report_backoff_max);
                    backoff
                }
            };
            let pause = pause.min(self.timing.report_backoff_max);
            let spread = clock::chance(u64::try_from(pause.as_millis() / 4).unwrap_or(0));
            tokio::time::sleep(pause.saturating_sub(Duration::from_millis(spread))).await;
        }
    }

    async fn attempt(&self, job: JobId, first: OwnerId, payload: Bytes) -> Step {
        let owner = self.owner(job).unwrap_or(first);
        let subject = self.bus.subjects.report(owner);
        match self.ask::<ReportReply>(subject, payload).await {
            Ok(ReportReply::Applied) => Step::End(Verdict::Applied),
            Ok(ReportReply::Refused { refusal, message }) => {
                Step::End(Verdict::Refused(refusal, message))
            }
            Ok(ReportReply::Busy { retry_after_ms }) => {
                Step::Wait(Some(Duration::from_millis(retry_after_ms)))
            }
            Ok(ReportReply::NotMine) => self.locate(job, owner).await,
            Err(reason) => {
                tracing::debug!(%job, %owner, reason, "the owner does not answer");
                self.locate(job, owner).await
            }
        }
    }

    async fn locate(&self, job: JobId, asked: OwnerId) -> Step {
        let question = serde_json::to_vec(&WhereIs { job_id: job }).unwrap_or_default();
        let subject = self.bus.subjects.reports_any();
        match self
            .ask::<Whereabouts>(subject, Bytes::from(question))
            .await
        {
            Ok(Whereabouts::Owner { owner }) => {
                self.remember(job, owner);
                if owner == asked {
                    Step::Wait(None)
                } else {
                    tracing::debug!(%job, %owner, "the job has another owner");
                    Step::Again
                }
            }
            Ok(Whereabouts::Wait { retry_after_ms }) => {
                Step::Wait(Some(Duration::from_millis(retry_after_ms.max(10))))
            }
            Ok(Whereabouts::Settled) => Step::End(Verdict::Settled),
            Err(reason) => {
                tracing::warn!(%job, reason, "no orchestrator answers: the report waits");
                Step::Wait(None)
            }
        }
    }

    async fn ask<T: DeserializeOwned>(&self, subject: String, payload: Bytes) -> Result<T, String> {
        let request = Request::new()
            .payload(payload)
            .timeout(Some(self.timing.report_timeout));
        let answer = self.bus.client.send_request(subject, request).await;
        let answer = answer.map_err(|error| error.to_string())?;
        serde_json::from_slice(&answer.payload)
            .map_err(|error| format!("an answer that is none: {error}"))
    }

    fn owner(&self, job: JobId) -> Option<OwnerId> {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.get(&job).copied()
    }

    fn remember(&self, job: JobId, owner: OwnerId) {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if owners.len() >= OWNERS_MAX {
            owners.clear();
        }
        owners.insert(job, owner);
    }
}
