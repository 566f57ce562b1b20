//! Applies what happened to an asset.

use std::collections::BTreeSet;

use super::state::Presence;
use super::{Approval, Asset, Clearance, Event, Origin, Processing, Revision, State};

/// Folds one event into the state; total, and a repeated event changes nothing.
#[must_use]
pub fn evolve(mut state: State, event: &Event) -> State {
    match (&mut state.asset, event) {
        // Whatever was read before it: it says everything.
        (known, Event::AssetCarried { asset, .. }) => *known = Some(Asset::clone(asset)),
        (None, _) => state.asset = created(event),
        (Some(asset), _) => apply(asset, event),
    }
    state
}

fn created(event: &Event) -> Option<Asset> {
    let Event::AssetCreated {
        asset_id,
        org_id,
        platform_id,
        platform_refs,
        title,
        at,
    } = event
    else {
        return None;
    };
    Some(Asset {
        asset_id: *asset_id,
        org_id: org_id.clone(),
        platform_id: platform_id.clone(),
        platform_refs: platform_refs.clone(),
        title: title.clone(),
        created_at: *at,
        presence: Presence::Live,
        clearance: Clearance::default(),
        processing: Processing::default(),
        revisions: Vec::new(),
        jobs: BTreeSet::new(),
    })
}

fn apply(asset: &mut Asset, event: &Event) {
    match event {
        // Whoever came first stays: refs are immutable. What is carried replaces the whole.
        Event::AssetCreated { .. } | Event::AssetCarried { .. } => {}
        Event::AssetDeleted { .. } => asset.presence = Presence::Deleted,
        Event::AssetRestored { .. } => asset.presence = Presence::Restored,
        Event::AssetApproved { revision, .. } => {
            review(asset, *revision, Approval::Approved, None);
        }
        Event::AssetRejected {
            revision, reason, ..
        } => review(asset, *revision, Approval::Rejected, Some(reason)),
        Event::AssetApprovalRevoked {
            revision, reason, ..
        } => review(asset, *revision, Approval::Revoked, Some(reason)),
        Event::AssetClearanceSet { clearance, .. } => asset.clearance = *clearance,
        Event::AssetProcessingBegan { job_id, .. } => {
            if asset.jobs.insert(*job_id) {
                asset.processing = Processing::Processing { job_id: *job_id };
            }
        }
        Event::AssetProcessingFailed {
            job_id, failure, ..
        } => {
            if asset.processing == (Processing::Processing { job_id: *job_id }) {
                let (job_id, failure) = (*job_id, failure.clone());
                asset.processing = Processing::Failed { job_id, failure };
            }
        }
        Event::AssetProcessingCompleted { job_id, .. } => {
            let origin = Origin::Job { job_id: *job_id };
            if append(asset, event, origin) {
                asset.processing = Processing::Completed { job_id: *job_id };
            }
        }
        Event::AssetRolledBack {
            to, reason, basis, ..
        } => {
            let (to, reason, basis) = (*to, reason.clone(), basis.clone());
            append(asset, event, Origin::Rollback { to, reason, basis });
        }
    }
}

/// Adds the revision that an event brings, unless it is there already.
fn append(asset: &mut Asset, event: &Event, origin: Origin) -> bool {
    let (Event::AssetProcessingCompleted {
        revision,
        content_hash,
        artifacts,
        at,
        ..
    }
    | Event::AssetRolledBack {
        revision,
        content_hash,
        artifacts,
        at,
        ..
    }) = event
    else {
        return false;
    };
    let is_next = *revision == asset.next_revision();
    if is_next {
        asset.revisions.push(Revision {
            number: *revision,
            content_hash: content_hash.clone(),
            artifacts: artifacts.clone(),
            origin,
            approval: Approval::default(),
            approval_reason: None,
            created_at: *at,
        });
    }
    is_next
}

/// Moves a review forward; what cannot follow is a repetition and has no effect.
fn review(asset: &mut Asset, number: u32, to: Approval, reason: Option<&String>) {
    let found = asset.revisions.iter_mut().rfind(|r| r.number == number);
    if let Some(revision) = found
        && revision.approval.may_become(to)
    {
        revision.approval = to;
        revision.approval_reason = reason.cloned();
    }
}
