//! What happened to an asset.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Artifact, Asset, AssetId, Basis, Clearance};
use crate::failure::Failure;
use crate::id::JobId;
use crate::platform::Refs;

/// A fact of the stream `asset:<asset_id>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The asset became known.
    AssetCreated {
        asset_id: AssetId,
        org_id: String,
        platform_id: String,
        platform_refs: Refs,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        at: DateTime<Utc>,
    },
    /// The asset was hidden.
    AssetDeleted { at: DateTime<Utc> },
    /// The asset was brought back.
    AssetRestored { at: DateTime<Utc> },
    /// A revision passed its review.
    AssetApproved { revision: u32, at: DateTime<Utc> },
    /// A revision did not pass its review.
    AssetRejected {
        revision: u32,
        reason: String,
        at: DateTime<Utc>,
    },
    /// The approval of a revision was taken back.
    AssetApprovalRevoked {
        revision: u32,
        reason: String,
        at: DateTime<Utc>,
    },
    /// Who may see the asset was decided.
    AssetClearanceSet {
        clearance: Clearance,
        at: DateTime<Utc>,
    },
    /// A job became the current one.
    AssetProcessingBegan { job_id: JobId, at: DateTime<Utc> },
    /// The current job made a revision.
    AssetProcessingCompleted {
        job_id: JobId,
        revision: u32,
        content_hash: String,
        artifacts: Vec<Artifact>,
        at: DateTime<Utc>,
    },
    /// The current job failed.
    AssetProcessingFailed {
        job_id: JobId,
        failure: Failure,
        at: DateTime<Utc>,
    },
    /// A revision was made with the content of an earlier one.
    AssetRolledBack {
        revision: u32,
        to: u32,
        content_hash: String,
        artifacts: Vec<Artifact>,
        reason: String,
        /// What it rests on; nothing in events from before artifacts were looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        basis: Option<Basis>,
        at: DateTime<Utc>,
    },
    /// What all events so far have made of the asset, so that they can be archived: reading may begin here.
    AssetCarried {
        asset: Box<Asset>,
        at: DateTime<Utc>,
    },
}
