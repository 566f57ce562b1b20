//! What becomes of the nodes of an older job in one that is made from it, and why.

use std::collections::BTreeSet;
use std::fmt;

use super::event::ReusedRange;
use super::reuse::REUSED_BYTES_MAX;
use super::status::NodeStatus;
use crate::id::NodeId;

/// One node of the older job.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFate {
    pub node: NodeId,
    /// The word of the language for what it is.
    pub kind: &'static str,
    /// Of a fan-out that had been expanded.
    pub children: Option<Children>,
    pub fate: Fate,
}

/// The children of a fan-out.
#[derive(Debug, Clone, PartialEq)]
pub struct Children {
    pub total: u32,
    /// Those whose outputs are taken over.
    pub reused: Vec<ReusedRange>,
}

/// What becomes of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// Its output is taken over; of a fan-out, those of all its children.
    Reused,
    /// Of a fan-out: some of its children run, the outputs of the others are taken over.
    PartlyReused(Cause),
    /// It runs again, if what leads to it does.
    Runs(Cause),
    /// It was skipped, and is skipped again.
    StaysSkipped,
    /// It was skipped; whether it runs now is decided anew.
    Open(Cause),
}

/// Why a node is not taken over.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// It was named.
    ForkPoint,
    /// It reads these inputs, which have another value now.
    InputChanged {
        inputs: BTreeSet<String>,
    },
    /// This node before it is not taken over, or not wholly.
    Behind {
        node: NodeId,
    },
    NotCompleted {
        status: NodeStatus,
    },
    /// So many children of the fan-out are not completed.
    ChildrenMissing {
        missing: u32,
    },
    /// What was taken over before it leaves no room for its output.
    TooLarge {
        size_bytes: usize,
        before_bytes: usize,
    },
}

impl Fate {
    /// The word for it, for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Reused => "reused",
            Self::PartlyReused(_) => "partly_reused",
            Self::Runs(_) => "runs",
            Self::StaysSkipped => "stays_skipped",
            Self::Open(_) => "open",
        }
    }

    /// Why it is not taken over, if it is not.
    #[must_use]
    pub fn cause(&self) -> Option<&Cause> {
        match self {
            Self::PartlyReused(cause) | Self::Runs(cause) | Self::Open(cause) => Some(cause),
            Self::Reused | Self::StaysSkipped => None,
        }
    }
}

impl Cause {
    /// The word for it, for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::ForkPoint => "fork_point",
            Self::InputChanged { .. } => "input_changed",
            Self::Behind { .. } => "behind",
            Self::NotCompleted { .. } => "not_completed",
            Self::ChildrenMissing { .. } => "children_missing",
            Self::TooLarge { .. } => "too_large",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForkPoint => f.write_str("the fork starts again here"),
            Self::InputChanged { inputs } => {
                let names: Vec<_> = inputs.iter().map(|name| format!("`{name}`")).collect();
                write!(f, "it reads {}, which has another value", names.join(", "))
            }
            Self::Behind { node } => write!(f, "it comes after `{node}`, which runs again"),
            Self::NotCompleted { status } => {
                write!(f, "it was not completed: it ended as {}", status.word())
            }
            Self::ChildrenMissing { missing: 1 } => f.write_str("one child was not completed"),
            Self::ChildrenMissing { missing } => {
                write!(f, "{missing} children were not completed")
            }
            Self::TooLarge {
                size_bytes,
                before_bytes,
            } => write!(
                f,
                "its output of {size_bytes} bytes and the {before_bytes} that are taken over before it are more than \
                 the {REUSED_BYTES_MAX} that one job takes over"
            ),
        }
    }
}
