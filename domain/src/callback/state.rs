//! What is known of a callback.

use crate::id::JobId;

/// One callback; before anything happened it is on its way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub(super) job_id: Option<JobId>,
    pub(super) round: u32,
    pub(super) progress: Progress,
}

/// How far a callback has come in its round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Progress {
    /// It is tried, or its job has not ended.
    #[default]
    OnItsWay,
    Delivered,
    GivenUp,
}

impl State {
    /// How far it has come in its round.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// How often a person has asked for it again.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.round
    }
}
