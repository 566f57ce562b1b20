//! Why a node of a job is not running: the job is folded, and the domain answers.

use domain::id::{JobId, NodeId};
use domain::job::{Why, why};

use crate::log::LogError;
use crate::orchestrator::LoadError;
use crate::write::Writer;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    #[error("there is no job {0}")]
    NoJob(JobId),
    #[error("job {job} has no node `{node}`")]
    NoNode { job: JobId, node: NodeId },
    #[error("the job cannot be read: {0}")]
    Load(String),
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Writer {
    /// Where a node stands and what it waits for, by the facts that decide it.
    pub async fn why(&self, job: JobId, node: &NodeId) -> Result<Why, WhyError> {
        let folded = match self.fold_job(job).await {
            Ok(folded) => folded,
            Err(LoadError::Empty) => return Err(WhyError::NoJob(job)),
            Err(LoadError::Log(error)) => return Err(error.into()),
            Err(error) => return Err(WhyError::Load(error.to_string())),
        };
        why(&folded.state, node).ok_or_else(|| WhyError::NoNode {
            job,
            node: node.clone(),
        })
    }
}
