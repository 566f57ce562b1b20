//! What happened to a workflow definition.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A fact of the stream `workflow:<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A version became known.
    WorkflowRegistered {
        version: u32,
        hash: String,
        source: String,
        at: DateTime<Utc>,
    },
}
