//! Who may write what (O-24, C-19).

use std::fmt;

use super::{Command, Rejection};
use crate::context::Role;

/// A part of an asset that one role alone writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concern {
    Creation,
    Deletion,
    Approval,
    ProcessingStatus,
    ContentHash,
    JobLinkage,
    Clearance,
    /// Choosing earlier content; the content itself was written by the orchestrator.
    Rollback,
}

/// The owner of every concern: each has exactly one.
pub const FIELD_OWNERS: [(Concern, Role); 8] = [
    (Concern::Creation, Role::Platform),
    (Concern::Deletion, Role::Platform),
    (Concern::Approval, Role::Platform),
    (Concern::ProcessingStatus, Role::Orchestrator),
    (Concern::ContentHash, Role::Orchestrator),
    (Concern::JobLinkage, Role::Orchestrator),
    (Concern::Clearance, Role::Platform),
    (Concern::Rollback, Role::Platform),
];

/// Refuses a command that writes what `role` does not own.
pub(super) fn check(command: &Command, role: Role) -> Result<(), Rejection> {
    let foreign = FIELD_OWNERS
        .into_iter()
        .find(|(concern, owner)| command.concerns().contains(concern) && *owner != role);
    match foreign {
        None => Ok(()),
        Some((concern, owner)) => Err(Rejection::WrongRole {
            concern,
            owner,
            role,
        }),
    }
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Creation => "creation",
            Self::Deletion => "deletion",
            Self::Approval => "approval",
            Self::ProcessingStatus => "processing status",
            Self::ContentHash => "content hash",
            Self::JobLinkage => "job linkage",
            Self::Clearance => "clearance",
            Self::Rollback => "rollback",
        })
    }
}
