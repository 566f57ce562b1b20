//! What the shell knows and the core may not ask for: the time, and who asks.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// The circumstances of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub now: DateTime<Utc>,
    pub actor: Actor,
}

/// Who asks: an opaque id, never a name or an address, because the log keeps it for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    pub id: String,
    pub role: Role,
}

/// On whose side the actor stands; field ownership is by role (O-24).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The side of the portals and partners: asks for work, reviews, deletes.
    Platform,
    /// The side that runs jobs and records what came of them.
    Orchestrator,
}

impl Role {
    /// All roles, for tables and tests.
    pub const ALL: [Self; 2] = [Self::Platform, Self::Orchestrator];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Platform => "platform",
            Self::Orchestrator => "orchestrator",
        })
    }
}

/// Contexts for the tests of the aggregates.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// The moment at which all decisions of the tests are made.
    pub(crate) fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000, 0).expect("a valid time")
    }

    /// A command from `role`, now.
    pub(crate) fn from(role: Role) -> Context {
        let id = "u1".to_owned();
        Context {
            now: now(),
            actor: Actor { id, role },
        }
    }
}
