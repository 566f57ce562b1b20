//! What happened to a workflow definition.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::handler::Pins;

/// A fact of the stream `workflow:<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A version became known.
    WorkflowRegistered {
        version: u32,
        hash: String,
        source: String,
        /// What the file leaves to its handlers.
        #[serde(default, skip_serializing_if = "Pins::is_empty")]
        handlers: Pins,
        at: DateTime<Utc>,
    },
    /// A version that is known, said again, so that older events can be archived: reading may begin with the first
    /// of these that stand together, one for each version.
    WorkflowCarried {
        version: u32,
        hash: String,
        source: String,
        #[serde(default, skip_serializing_if = "Pins::is_empty")]
        handlers: Pins,
        registered_at: DateTime<Utc>,
        at: DateTime<Utc>,
    },
}
