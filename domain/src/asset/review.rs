//! What the platform says of an asset: whether it was reviewed, and who may see it (U-34).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The review of one revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Nobody decided yet; every revision begins here.
    #[default]
    PendingReview,
    Approved,
    Rejected,
    /// It was approved and is no longer.
    Revoked,
}

impl Approval {
    /// All words, for tables and tests.
    pub const ALL: [Self; 4] = [
        Self::PendingReview,
        Self::Approved,
        Self::Rejected,
        Self::Revoked,
    ];

    /// Whether a review may go from here to `to`; after a no, only a new revision can pass.
    #[must_use]
    pub fn may_become(self, to: Self) -> bool {
        match self {
            Self::PendingReview => matches!(to, Self::Approved | Self::Rejected),
            Self::Approved => to == Self::Revoked,
            Self::Rejected | Self::Revoked => false,
        }
    }

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PendingReview => "pending_review",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Revoked => "revoked",
        }
    }
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Who may see an asset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clearance {
    /// Nobody decided yet.
    #[default]
    Uncleared,
    /// Official use only.
    Ouo,
    /// Everybody, as long as the current revision is approved.
    Public,
}

impl Clearance {
    /// All words, for tables and tests.
    pub const ALL: [Self; 3] = [Self::Uncleared, Self::Ouo, Self::Public];

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uncleared => "uncleared",
            Self::Ouo => "ouo",
            Self::Public => "public",
        }
    }
}

impl fmt::Display for Clearance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
