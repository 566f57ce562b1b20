//! Words of the schema for the words of the domain.

use async_graphql::Enum;
use domain::asset::{Approval as A, Clearance as C};
use domain::job::{JobStatus as J, NodeStatus as N};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum JobStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum NodeStatus {
    Pending,
    Ready,
    Dispatched,
    Running,
    Completed,
    Failed,
    Skipped,
}

/// How urgent work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum Priority {
    High,
    Normal,
    Low,
}

/// The review of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum Approval {
    PendingReview,
    Approved,
    Rejected,
    Revoked,
}

/// What was found of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum Verdict {
    /// It is there, and its SHA-256 is the recorded one.
    Intact,
    Missing,
    /// There is something else.
    Changed,
    /// Nothing was recorded that it could be compared with, or nobody can read such a place.
    Unverifiable,
}

/// Who may see an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum Clearance {
    Uncleared,
    Ouo,
    Public,
}

/// What the holder of a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum Role {
    Reader,
    Writer,
    Admin,
}

impl JobStatus {
    pub(super) fn of(word: &str) -> Self {
        match word {
            "RUNNING" => Self::Running,
            "COMPLETED" => Self::Completed,
            "FAILED" => Self::Failed,
            "CANCELLED" => Self::Cancelled,
            _ => Self::Pending,
        }
    }

    pub(super) fn domain(self) -> J {
        match self {
            Self::Pending => J::Pending,
            Self::Running => J::Running,
            Self::Completed => J::Completed,
            Self::Failed => J::Failed,
            Self::Cancelled => J::Cancelled,
        }
    }
}

impl NodeStatus {
    pub(super) fn of(word: &str) -> Self {
        match word {
            "READY" => Self::Ready,
            "DISPATCHED" => Self::Dispatched,
            "RUNNING" => Self::Running,
            "COMPLETED" => Self::Completed,
            "FAILED" => Self::Failed,
            "SKIPPED" => Self::Skipped,
            _ => Self::Pending,
        }
    }

    pub(super) fn word(self) -> &'static str {
        let status = match self {
            Self::Pending => N::Pending,
            Self::Ready => N::Ready,
            Self::Dispatched => N::Dispatched,
            Self::Running => N::Running,
            Self::Completed => N::Completed,
            Self::Failed => N::Failed,
            Self::Skipped => N::Skipped,
        };
        status.word()
    }
}

impl Priority {
    pub(super) fn of(word: &str) -> Self {
        match word {
            "high" => Self::High,
            "low" => Self::Low,
            _ => Self::Normal,
        }
    }

    pub(super) fn domain(self) -> domain::priority::Priority {
        match self {
            Self::High => domain::priority::Priority::High,
            Self::Normal => domain::priority::Priority::Normal,
            Self::Low => domain::priority::Priority::Low,
        }
    }
}

impl Approval {
    pub(super) fn of(word: &str) -> Self {
        match word {
            "approved" => Self::Approved,
            "rejected" => Self::Rejected,
            "revoked" => Self::Revoked,
            _ => Self::PendingReview,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::PendingReview => A::PendingReview,
            Self::Approved => A::Approved,
            Self::Rejected => A::Rejected,
            Self::Revoked => A::Revoked,
        }
        .as_str()
    }
}

impl From<domain::asset::Verdict> for Verdict {
    fn from(verdict: domain::asset::Verdict) -> Self {
        use domain::asset::Verdict as V;
        match verdict {
            V::Intact => Self::Intact,
            V::Missing => Self::Missing,
            V::Changed => Self::Changed,
            V::Unverifiable => Self::Unverifiable,
        }
    }
}

impl Clearance {
    pub(super) fn of(word: &str) -> Self {
        match word {
            "ouo" => Self::Ouo,
            "public" => Self::Public,
            _ => Self::Uncleared,
        }
    }

    pub(super) fn domain(self) -> C {
        match self {
            Self::Uncleared => C::Uncleared,
            Self::Ouo => C::Ouo,
            Self::Public => C::Public,
        }
    }
}

impl Role {
    pub(super) fn of(role: domain::access::Role) -> Self {
        match role {
            domain::access::Role::Reader => Self::Reader,
            domain::access::Role::Writer => Self::Writer,
            domain::access::Role::Admin => Self::Admin,
        }
    }

    pub(super) fn domain(self) -> domain::access::Role {
        match self {
            Self::Reader => domain::access::Role::Reader,
            Self::Writer => domain::access::Role::Writer,
            Self::Admin => domain::access::Role::Admin,
        }
    }
}
