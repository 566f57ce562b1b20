//! Going on where an earlier run had come to (O-122, O-125).

use domain::job::checkpoint::{Artifact, Checkpoint};
use serde_json::Value;

use crate::store::Store;

/// What a handler saves after a phase.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phase {
    pub name: String,
    /// Number of this phase, from 0.
    pub index: u32,
    pub total: u32,
    /// Whatever the handler needs to go on after it.
    pub state: Value,
    /// What exists now; checked before it is saved and before it is trusted again.
    pub artifacts: Vec<Artifact>,
    pub is_final: bool,
}

/// The last checkpoint of an earlier run, and what of it is no longer true.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    pub checkpoint: Checkpoint,
    /// Artifacts that are gone or have changed.
    pub invalid: Vec<Artifact>,
}

impl Resume {
    /// Whether everything that it promises is there.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }

    /// The phase to go on with: the one after the checkpoint, or its own again when an artifact is
    /// not what it was.
    #[must_use]
    pub fn next_phase(&self) -> u32 {
        if self.is_valid() {
            self.checkpoint.phase_index.saturating_add(1)
        } else {
            self.checkpoint.phase_index
        }
    }

    /// Looks at every artifact of a checkpoint; one that cannot be read counts as gone.
    pub(crate) async fn verify(checkpoint: &Checkpoint, store: &Store) -> Self {
        let mut invalid = Vec::new();
        for artifact in &checkpoint.artifacts {
            let seen = store
                .verify(&artifact.uri, artifact.sha256.as_deref())
                .await;
            if let Err(error) = seen {
                tracing::warn!(uri = artifact.uri, %error, "an artifact is not trusted");
                invalid.push(artifact.clone());
            }
        }
        Self {
            checkpoint: checkpoint.clone(),
            invalid,
        }
    }
}
