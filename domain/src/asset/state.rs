//! What is known of an asset.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{Approval, AssetId, Clearance, Origin, Processing, Revision};
use crate::id::JobId;
use crate::platform::Refs;

/// One asset, or nothing as long as it is not created.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub(super) asset: Option<Asset>,
}

/// An asset that was created. It is also what `asset_carried` holds: its JSON changes only with an upcast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asset {
    pub asset_id: AssetId,
    pub org_id: String,
    pub platform_id: String,
    pub platform_refs: Refs,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub created_at: DateTime<Utc>,
    pub(super) presence: Presence,
    pub(super) clearance: Clearance,
    pub(super) processing: Processing,
    /// Dense: the revision with number n is the n-th.
    pub(super) revisions: Vec<Revision>,
    /// Every job that ever began, so that a late repetition cannot take the asset over again.
    pub(super) jobs: BTreeSet<JobId>,
}

/// Whether an asset is there for its readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Presence {
    Live,
    Deleted,
    /// Live again.
    Restored,
}

impl State {
    /// The asset, deleted or not, once it is created.
    #[must_use]
    pub fn asset(&self) -> Option<&Asset> {
        self.asset.as_ref()
    }

    /// The number of the current revision.
    #[must_use]
    pub fn revision(&self) -> Option<u32> {
        self.current().map(|revision| revision.number)
    }

    /// All revisions, oldest first.
    #[must_use]
    pub fn revisions(&self) -> &[Revision] {
        self.asset().map_or(&[], |asset| &asset.revisions)
    }

    /// The current revision, which is the last one.
    #[must_use]
    pub fn current(&self) -> Option<&Revision> {
        self.revisions().last()
    }

    /// The review of the current revision.
    #[must_use]
    pub fn approval(&self) -> Approval {
        self.current()
            .map_or_else(Approval::default, |revision| revision.approval)
    }

    /// Who may see the asset, as the platform said.
    #[must_use]
    pub fn clearance(&self) -> Clearance {
        self.asset()
            .map_or_else(Clearance::default, |asset| asset.clearance)
    }

    /// Whether everybody may see it now: public, approved and not deleted.
    #[must_use]
    pub fn is_public(&self) -> bool {
        !self.is_deleted()
            && self.clearance() == Clearance::Public
            && self.approval() == Approval::Approved
    }

    /// How its latest job goes.
    #[must_use]
    pub fn processing(&self) -> &Processing {
        self.asset()
            .map_or(&Processing::Pending, |asset| &asset.processing)
    }

    /// The partner's identifiers, exactly as they came.
    #[must_use]
    pub fn platform_refs(&self) -> Option<&Refs> {
        self.asset().map(|asset| &asset.platform_refs)
    }

    /// Whether it was deleted and not restored.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.asset()
            .is_some_and(|asset| asset.presence == Presence::Deleted)
    }
}

impl Asset {
    /// The revision with this number.
    #[must_use]
    pub fn find(&self, number: u32) -> Option<&Revision> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.revisions.get(index)
    }

    /// The job that made the content of a revision, also of one that a rollback brought back.
    #[must_use]
    pub fn maker(&self, number: u32) -> Option<JobId> {
        let mut revision = self.find(number)?;
        loop {
            match &revision.origin {
                Origin::Job { job_id } => return Some(*job_id),
                // It goes back only, so that it comes to an end.
                Origin::Rollback { to, .. } if *to < revision.number => {
                    revision = self.find(*to)?
                }
                Origin::Rollback { .. } => return None,
            }
        }
    }

    /// The number that the next revision gets.
    #[must_use]
    pub fn next_revision(&self) -> u32 {
        let count = u32::try_from(self.revisions.len()).unwrap_or(u32::MAX);
        count.saturating_add(1)
    }
}
