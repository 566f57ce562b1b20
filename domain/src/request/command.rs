//! What can be asked of a request.

use super::Submission;
use crate::id::JobId;

/// A wish that [`decide`](super::decide()) grants or refuses.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Asks for work; boxed because it is much larger than the others.
    Submit(Box<Submission>),
    /// Ties the request to its job; the orchestrator's alone.
    AssignJob { job_id: JobId },
    /// Takes the request back before a job exists; the platform's alone.
    Withdraw { reason: String },
}
