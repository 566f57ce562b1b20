//! Retry: a new request whose job takes over what an ended one has finished.

use domain::event::Event;
use domain::id::JobId;
use domain::job::{NoPlan, plan_retry};
use domain::request::{self, Submission};

use crate::log::LogError;
use crate::orchestrator::LoadError;
use crate::submit::{Order, SubmitError, Submitted};
use crate::write::Writer;

/// Why a job cannot be retried.
#[derive(Debug, thiserror::Error)]
pub enum RetryError {
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

impl Writer {
    /// Submits the work of a failed or cancelled job again. Asked twice, the answer is the same new
    /// job: what fails again is retried by its own id.
    pub async fn retry(&self, job: JobId, actor: &str) -> Result<Submitted, RetryError> {
        let folded = match self.fold_job(job).await {
            Ok(folded) => folded,
            Err(LoadError::Empty) => return Err(RetryError::NoJob(job)),
            Err(error) => return Err(RetryError::Load(error.to_string())),
        };
        plan_retry(&folded.state)?;
        let workflow = folded.state.graph().workflow.clone();
        let before = self.submission(folded.request_id).await?;
        let order = Order {
            org_id: before.org_id,
            actor: actor.to_owned(),
            platform_id: before.platform_id,
            refs: before.refs,
            workflow_id: workflow.id,
            workflow_version: Some(workflow.version),
            inputs: before.inputs,
            priority: Some(before.priority),
            callbacks: before.callbacks,
            retry_of: Some(job),
            idempotency_key: Some(format!("retry of {job}")),
            trace: None,
        };
        Ok(self.submit(order).await?)
    }

    async fn submission(&self, id: domain::id::RequestId) -> Result<Submission, LogError> {
        let first = self.log.read_stream(&format!("request:{id}"), 0, 1).await?;
        match first.first().map(crate::log::Recorded::decode) {
            Some(Ok(Event::Request(request::Event::RequestSubmitted { submission, .. }))) => {
                Ok(*submission)
            }
            _ => Err(LogError::Decode(format!("{id} has no beginning"))),
        }
    }
}
