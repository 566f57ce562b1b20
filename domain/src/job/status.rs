//! The two state machines: which status may follow which.

use serde::{Deserialize, Serialize};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum JobStatus {
    /// Created; nothing has been dispatched yet.
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum NodeStatus {
    /// Waits for its predecessors.
    Pending,
    /// Could run; waits for its turn.
    Ready,
    /// Sent to a queue.
    Dispatched,
    /// A worker is at it.
    Running,
    Completed,
    /// Failed; terminal unless a retry is due.
    Failed,
    Skipped,
}

impl JobStatus {
    /// All, in the order of a job's life.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Whether a job may go from this status to that in one step.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        use JobStatus as S;
        matches!(
            (self, next),
            (S::Pending, S::Running | S::Cancelled)
                | (S::Running, S::Completed | S::Failed | S::Cancelled)
        )
    }

    /// Whether the job has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The word for it, as on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl NodeStatus {
    /// All, in the order of a node's life.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Ready,
        Self::Dispatched,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Skipped,
    ];

    /// Whether a node may go from this status to that in one step.
    ///
    /// READY to FAILED is for what goes wrong before anything is sent, such as a template that
    /// cannot be rendered.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        use NodeStatus as S;
        matches!(
            (self, next),
            (S::Pending, S::Ready | S::Skipped)
                | (S::Ready, S::Dispatched | S::Skipped | S::Failed)
                | (S::Dispatched, S::Running | S::Failed)
                | (S::Running, S::Completed | S::Failed)
                | (S::Failed, S::Ready)
        )
    }

    /// The shortest legal way from this status to that, both included; `None` if there is none.
    ///
    /// One event may stand for several steps at once: an end node that the engine passes goes from
    /// PENDING through READY, DISPATCHED and RUNNING to COMPLETED.
    #[must_use]
    pub fn path_to(self, goal: Self) -> Option<&'static [Self]> {
        use NodeStatus as S;
        const LIFE: [NodeStatus; 5] = [
            S::Pending,
            S::Ready,
            S::Dispatched,
            S::Running,
            S::Completed,
        ];
        let place = |s: Self| LIFE.iter().position(|l| *l == s);
        match (self, goal) {
            (S::Running, S::Ready) => Some(&[S::Running, S::Failed, S::Ready]),
            (S::Pending, S::Failed) => Some(&[S::Pending, S::Ready, S::Failed]),
            _ => match (place(self), place(goal)) {
                (Some(from), Some(to)) if from < to => LIFE.get(from..=to),
                _ => None,
            },
        }
    }

    /// The word for it, as on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Ready => "READY",
            Self::Dispatched => "DISPATCHED",
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Skipped => "SKIPPED",
        }
    }
}
