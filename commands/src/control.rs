//! Cancel, pause and resume: wishes from outside, appended to a job that somebody else owns.
//!
//! The job is not folded for it, however large it is: the log refuses what comes after the end, and
//! `evolve` takes a repeated wish as nothing. The owner finds the event when it reads on.

use domain::context::{Actor, Role};
use domain::event::Event;
use domain::id::{JobId, RequestId};
use domain::job::{self, Intent, JobStatus};
use domain::message::JobChanged;
use domain::request::{self, Progress};

use crate::appender::{AppendError, Appended};
use crate::log::{Append, COMMAND_EVENTS_MAX, Expected, LogError, OpenJob};
use crate::orchestrator::News;
use crate::write::{Writer, meta};

/// How often a lost race is tried again.
const TRIES: usize = 20;

/// What became of a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controlled {
    /// It is in the log, at this position.
    Applied { pos: u64 },
    /// The request was taken back before it had a job.
    Withdrawn { pos: u64 },
    /// The job had been cancelled before.
    AlreadyCancelled,
}

/// Why a wish was not granted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ControlError {
    #[error("there is no job {0}")]
    NoJob(JobId),
    #[error("the job has ended: it is {}", .0.word())]
    Ended(JobStatus),
    #[error("no orchestrator has taken the request yet; it can only be cancelled")]
    NotClaimed,
    #[error("others keep writing to the job; try again")]
    Contended,
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl Writer {
    /// Ends a job, or takes its request back if it has none yet.
    pub async fn cancel(
        &self,
        job: JobId,
        reason: &str,
        actor: &str,
    ) -> Result<Controlled, ControlError> {
        let reason = reason.to_owned();
        self.control(job, &Intent::Cancel { reason }, actor).await
    }

    /// Holds back what is not dispatched yet.
    pub async fn pause(
        &self,
        job: JobId,
        reason: &str,
        actor: &str,
    ) -> Result<Controlled, ControlError> {
        let reason = reason.to_owned();
        self.control(job, &Intent::Pause { reason }, actor).await
    }

    /// Lets a paused job go on.
    pub async fn resume(&self, job: JobId, actor: &str) -> Result<Controlled, ControlError> {
        self.control(job, &Intent::Resume, actor).await
    }

    async fn control(
        &self,
        job: JobId,
        intent: &Intent,
        actor: &str,
    ) -> Result<Controlled, ControlError> {
        for _ in 0..TRIES {
            let first = self.log.read_stream(&stream(job), 0, 1).await?;
            let done = match first.first() {
                Some(first) => {
                    let org_id = first.org_id.clone();
                    self.append_intent(job, org_id, intent, actor).await?
                }
                None => self.withdraw(job, intent, actor).await?,
            };
            if let Some(done) = done {
                if let Some(bus) = &self.bus {
                    bus.hint(bus.subjects.job_changed(), &JobChanged { job_id: job })
                        .await;
                }
                return Ok(done);
            }
        }
        Err(ControlError::Contended)
    }

    /// Nothing if somebody else was faster, so that it must be looked at again.
    async fn append_intent(
        &self,
        job: JobId,
        org_id: String,
        intent: &Intent,
        actor: &str,
    ) -> Result<Option<Controlled>, ControlError> {
        let event = job::intended(intent);
        let is_end = matches!(intent, Intent::Cancel { .. });
        let mut group = Vec::new();
        if is_end {
            let request_id = self.request_of(job).await?;
            let asset_id = self.asset_of(request_id).await?;
            if let Some(asset_id) = asset_id {
                let news = [News::Ended(Box::new(event.clone()))];
                group.extend(self.asset_news(asset_id, job, &news).await?);
            }
        }
        let job_id = job.to_string();
        let wish = Append {
            stream: stream(job),
            expected: Expected::Any,
            org_id,
            meta: meta(actor, None),
            events: vec![Event::Job(event)],
            open_job: is_end.then_some(OpenJob::Close { job_id }),
            closes: is_end,
        };
        group.insert(0, wish);
        match self.appender.append(&group).await {
            Ok(Appended { pos, .. }) => Ok(Some(Controlled::Applied { pos })),
            Err(AppendError::Conflict { versions }) => {
                let version = versions.first().copied().unwrap_or(0);
                self.ended(job, version, is_end).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// How a job ended that takes no more; nothing if it is still open.
    async fn ended(
        &self,
        job: JobId,
        version: u64,
        is_cancel: bool,
    ) -> Result<Option<Controlled>, ControlError> {
        // Reports that came too late may be recorded in the append that ends a job, behind its end.
        let before = version.saturating_sub(COMMAND_EVENTS_MAX as u64);
        let stream = stream(job);
        let last = self.log.read_stream(&stream, before, COMMAND_EVENTS_MAX);
        let last = last.await?;
        let status = last.iter().find_map(|recorded| match recorded.decode() {
            Ok(Event::Job(job::Event::JobCancelled { .. })) => Some(JobStatus::Cancelled),
            Ok(Event::Job(job::Event::JobCompleted { .. })) => Some(JobStatus::Completed),
            Ok(Event::Job(job::Event::JobFailed { .. })) => Some(JobStatus::Failed),
            _ => None,
        });
        match status {
            Some(JobStatus::Cancelled) if is_cancel => Ok(Some(Controlled::AlreadyCancelled)),
            Some(status) => Err(ControlError::Ended(status)),
            None => Ok(None),
        }
    }

    /// The request of a job that does not exist yet is taken back.
    async fn withdraw(
        &self,
        job: JobId,
        intent: &Intent,
        actor: &str,
    ) -> Result<Option<Controlled>, ControlError> {
        let waiting = self.log.open_job(job).await?;
        let waiting = waiting.ok_or(ControlError::NoJob(job))?;
        let Intent::Cancel { reason } = intent else {
            return Err(ControlError::NotClaimed);
        };
        let stream = format!("request:{}", waiting.request_id);
        let recorded = self.log.read_stream(&stream, 0, usize::MAX).await?;
        let mut state = request::State::default();
        for recorded in &recorded {
            if let Ok(Event::Request(event)) = recorded.decode() {
                state = request::evolve(state, &event);
            }
        }
        let Some(org_id) = state.submission().map(|s| s.org_id.clone()) else {
            return Err(ControlError::NoJob(job));
        };
        if matches!(state.progress(), Progress::Assigned { .. }) {
            return Ok(None);
        }
        let (id, role) = (actor.to_owned(), Role::Platform);
        let context = self.context(Actor { id, role });
        let command = request::Command::Withdraw {
            reason: reason.clone(),
        };
        let decided = request::decide(&state, command, &context);
        let events = decided.map_err(|refused| LogError::Refused(refused.to_string()))?;
        let group = [Append {
            stream,
            expected: Expected::Version(recorded.len() as u64),
            org_id,
            meta: meta(actor, Some(waiting.request_id)),
            events: events
                .into_events()
                .into_iter()
                .map(Event::Request)
                .collect(),
            open_job: Some(OpenJob::Close {
                job_id: job.to_string(),
            }),
            closes: true,
        }];
        match self.appender.append(&group).await {
            Ok(Appended { pos, .. }) => Ok(Some(Controlled::Withdrawn { pos })),
            Err(AppendError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The request that a job was made from.
    pub(crate) async fn request_of(&self, job: JobId) -> Result<RequestId, LogError> {
        let first = self.log.read_stream(&stream(job), 0, 1).await?;
        match first.first().map(crate::log::Recorded::decode) {
            Some(Ok(Event::Job(job::Event::JobCreated(created)))) => Ok(created.request_id),
            _ => Err(LogError::Decode(format!("{job} has no beginning"))),
        }
    }
}

fn stream(job: JobId) -> String {
    format!("job:{job}")
}
