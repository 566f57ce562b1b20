//! Why a command is refused.

use super::status::JobStatus;
use crate::id::{NodeId, OwnerId, RunId};

/// A refusal. Nothing is appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    #[error("the job does not exist")]
    NoJob,
    #[error("the job exists already, created by another request body")]
    JobExists,
    #[error("the job is {}; it can no longer change", .status.word())]
    Ended { status: JobStatus },
    #[error("only the owner of the job may do this; it is owned by {owner} in epoch {epoch}")]
    Fenced { owner: OwnerId, epoch: u64 },
    #[error("this command needs an owner and an epoch")]
    NoFence,
    #[error("a claim must carry epoch {expected}, not {found}")]
    WrongEpoch { expected: u64, found: u64 },
    #[error("the definition at hand has hash {found}, but the job runs {expected}")]
    WrongDefinition { expected: String, found: String },
    #[error("the job has no node `{node}` that a worker could report on")]
    NoTask { node: NodeId },
    #[error("attempt {attempt} (epoch {epoch}) of `{node}` has not been dispatched")]
    NotDispatched {
        node: NodeId,
        attempt: u32,
        epoch: u32,
    },
    #[error("`{node}` is being run already, as {run}")]
    AlreadyRunning { node: NodeId, run: RunId },
    #[error("the handler of `{node}` is not idempotent: report `started` first")]
    NotStarted { node: NodeId },
    #[error("`{node}` must not be started by this message: {reason}")]
    Superseded { node: NodeId, reason: String },
    #[error("this report is not current, and too many like it have been recorded")]
    Stale,
    #[error("the checkpoint is larger than {max_bytes} bytes, or nested too deeply")]
    CheckpointTooLarge { max_bytes: usize },
}
