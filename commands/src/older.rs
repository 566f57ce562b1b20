//! The older job that a retry or a fork is made from: read from the log, and ordered once more.

use domain::event::Event;
use domain::id::{JobId, RequestId};
use domain::job::{NoPlan, Plan, State};
use domain::request::{self, Submission};

use crate::log::LogError;
use crate::orchestrator::LoadError;
use crate::submit::{Order, SubmitError, Submitted};
use crate::write::Writer;

/// Why a job cannot be retried or forked.
#[derive(Debug, thiserror::Error)]
pub enum ReuseError {
    #[error("there is no job {0}")]
    NoJob(JobId),
    #[error(transparent)]
    NoPlan(#[from] NoPlan),
    #[error("the job cannot be read: {0}")]
    Load(String),
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A request whose job takes over what an older one has finished.
#[derive(Debug, Clone)]
pub struct Reusing {
    pub submitted: Submitted,
    /// What is taken over, and what runs.
    pub plan: Plan,
}

/// A job as it ended, with what was asked for.
pub(crate) struct Older {
    pub(crate) state: State,
    pub(crate) submission: Submission,
}

impl Older {
    /// The same work for the same asset, by the very definition that the older job ran.
    pub(crate) fn order(self, actor: &str) -> Order {
        let workflow = &self.state.graph().workflow;
        let before = self.submission;
        Order {
            org_id: before.org_id,
            actor: actor.to_owned(),
            platform_id: before.platform_id,
            refs: before.refs,
            workflow_id: workflow.id.clone(),
            workflow_version: Some(workflow.version),
            inputs: before.inputs,
            priority: Some(before.priority),
            callbacks: before.callbacks,
            retry_of: None,
            forked_from: None,
            idempotency_key: None,
            trace: None,
        }
    }
}

impl Writer {
    pub(crate) async fn older(&self, job: JobId) -> Result<Older, ReuseError> {
        let folded = match self.fold_job(job).await {
            Ok(folded) => folded,
            Err(LoadError::Empty) => return Err(ReuseError::NoJob(job)),
            Err(LoadError::Log(error)) => return Err(error.into()),
            Err(error) => return Err(ReuseError::Load(error.to_string())),
        };
        Ok(Older {
            submission: self.submission(folded.request_id).await?,
            state: folded.state,
        })
    }

    async fn submission(&self, id: RequestId) -> Result<Submission, LogError> {
        let first = self.log.read_stream(&format!("request:{id}"), 0, 1).await?;
        match first.first().map(crate::log::Recorded::decode) {
            Some(Ok(Event::Request(request::Event::RequestSubmitted { submission, .. }))) => {
                Ok(*submission)
            }
            _ => Err(LogError::Decode(format!("{id} has no beginning"))),
        }
    }
}
