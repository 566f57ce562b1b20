//! What is known of a request.

use chrono::{DateTime, Utc};

use super::Submission;
use crate::id::JobId;

/// One request, or nothing as long as it is not submitted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub(super) submitted: Option<(Box<Submission>, DateTime<Utc>)>,
    pub(super) progress: Progress,
}

/// How far a request has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Progress {
    /// No job exists yet.
    #[default]
    Waiting,
    /// The job carries on from here.
    Assigned { job_id: JobId },
    /// It was taken back before a job existed.
    Withdrawn { reason: String },
}

impl State {
    /// What was asked for.
    #[must_use]
    pub fn submission(&self) -> Option<&Submission> {
        self.submitted.as_ref().map(|(submission, _)| &**submission)
    }

    /// When it was asked for.
    #[must_use]
    pub fn submitted_at(&self) -> Option<DateTime<Utc>> {
        self.submitted.as_ref().map(|(_, at)| *at)
    }

    /// How far it has come.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The job, once there is one.
    #[must_use]
    pub fn job_id(&self) -> Option<JobId> {
        match self.progress {
            Progress::Assigned { job_id } => Some(job_id),
            Progress::Waiting | Progress::Withdrawn { .. } => None,
        }
    }
}
