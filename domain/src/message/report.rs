//! How workers tell what became of a task, and what they are told.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::id::{JobId, NodeId, OwnerId, RunId};
use crate::job::Rejection;
use crate::job::checkpoint::Checkpoint;
use crate::job::command::{Outcome, Report};
use crate::job::event::Blob;

/// A worker's word on one run; answered with a [`ReportReply`] after it is committed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportMessage {
    pub job_id: JobId,
    pub node_id: NodeId,
    pub attempt: u32,
    pub epoch: u32,
    pub run_id: RunId,
    pub worker_id: String,
    #[serde(flatten)]
    pub outcome: ReportOutcome,
}

/// How the run goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum ReportOutcome {
    Started,
    Checkpoint {
        checkpoint: Checkpoint,
    },
    Completed {
        output: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external: Option<Blob>,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        metrics: Map<String, Value>,
    },
    Failed {
        failure: Failure,
    },
    /// The worker leaves: the task goes back to its owner, which sends it again at once.
    Released,
}

impl ReportMessage {
    /// The command that it stands for.
    #[must_use]
    pub fn into_report(self) -> Report {
        Report {
            node: self.node_id,
            attempt: self.attempt,
            epoch: self.epoch,
            run: self.run_id,
            worker: self.worker_id,
            outcome: match self.outcome {
                ReportOutcome::Started => Outcome::Started,
                ReportOutcome::Checkpoint { checkpoint } => Outcome::Checkpoint(checkpoint),
                ReportOutcome::Completed {
                    output,
                    external,
                    metrics,
                } => Outcome::Completed {
                    output,
                    external,
                    metrics,
                },
                ReportOutcome::Failed { failure } => Outcome::Failed(failure),
                ReportOutcome::Released => Outcome::Released,
            },
        }
    }
}

/// What the owner answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum ReportReply {
    /// It is in the log, now or since an earlier sending.
    Applied,
    /// It is not current, or breaks a rule; repeating it would not help.
    Refused { refusal: Refusal, message: String },
    /// This orchestrator does not own the job: ask `reports.any`.
    NotMine,
    /// Nothing was decided: try again after this time.
    Busy { retry_after_ms: u64 },
}

/// Why a report was refused, as far as the worker must act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Another run of this attempt is alive: leave the message for later.
    AlreadyRunning,
    /// The handler is not idempotent: report `started` first.
    NotStarted,
    /// The run is over for the log: drop the task and its message.
    Superseded,
    /// The report itself cannot be accepted.
    Invalid,
}

impl From<&Rejection> for ReportReply {
    fn from(rejection: &Rejection) -> Self {
        let refusal = match rejection {
            Rejection::AlreadyRunning { .. } => Refusal::AlreadyRunning,
            Rejection::NotStarted { .. } => Refusal::NotStarted,
            Rejection::Superseded { .. } | Rejection::Ended { .. } | Rejection::Stale => {
                Refusal::Superseded
            }
            Rejection::Fenced { .. } | Rejection::NoJob => return Self::NotMine,
            _ => Refusal::Invalid,
        };
        let message = rejection.to_string();
        Self::Refused { refusal, message }
    }
}

/// Asks any orchestrator who owns a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhereIs {
    pub job_id: JobId,
}

/// Where reports of a job should go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "whereabouts", rename_all = "snake_case")]
pub enum Whereabouts {
    Owner {
        owner: OwnerId,
    },
    /// Nobody owns it now, somebody will.
    Wait {
        retry_after_ms: u64,
    },
    /// The job has ended, or never existed: nothing that is reported can count.
    Settled,
}
