//! What a long task has safely behind it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{clean, clean_text};

/// Largest checkpoint, as JSON.
pub const CHECKPOINT_BYTES_MAX: usize = 64 * 1024;

/// A place from which the next run of a task can go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Counts up within a run and over its successors; an older one never replaces a newer one.
    pub seq: u64,
    pub phase: String,
    pub phase_index: u32,
    pub phases_total: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Whatever the handler needs to go on.
    #[serde(default)]
    pub state: Value,
    /// What exists already; verified before it is trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
}

impl Checkpoint {
    /// The same without U+0000 in its texts.
    #[must_use]
    pub(super) fn cleaned(self) -> Self {
        let progress = self.progress.map(|p| Progress {
            message: clean_text(&p.message),
            ..p
        });
        let artifacts = self.artifacts.into_iter().map(|artifact| Artifact {
            uri: clean_text(&artifact.uri),
            sha256: artifact.sha256.as_deref().map(clean_text),
        });
        Self {
            phase: clean_text(&self.phase),
            progress,
            state: clean(self.state),
            artifacts: artifacts.collect(),
            ..self
        }
    }
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    pub current: u64,
    pub total: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A file that a phase has finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}
