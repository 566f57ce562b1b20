//! Decides what the platform says of the revisions of an asset.

use chrono::{DateTime, Utc};

use super::check::basis;
use super::decide::{Outcome, accept};
use super::{Approval, Asset, Clearance, Event, Origin, Rejection, Revision, Rollback};
use crate::json::clean_text;
use crate::outcome::Decision;

/// Decides the review of the revision that was looked at, or of the current one.
pub(super) fn review(
    asset: &Asset,
    wanted: Option<u32>,
    to: Approval,
    reason: Option<String>,
    at: DateTime<Utc>,
) -> Outcome {
    let current = current(asset)?;
    let number = wanted.unwrap_or(current.number);
    let revision = find(asset, number, current.number)?;
    let reason = reason.map(|reason| clean_text(&reason));
    if revision.approval == to && revision.approval_reason == reason {
        return Ok(Decision::AlreadyApplied);
    }
    if number != current.number {
        return Err(Rejection::NotCurrentRevision {
            revision: number,
            current: current.number,
        });
    }
    if !revision.approval.may_become(to) {
        return Err(Rejection::IllegalApproval {
            revision: number,
            from: revision.approval,
            to,
        });
    }
    let (revision, reason) = (number, reason.unwrap_or_default());
    match to {
        Approval::Approved => accept(Event::AssetApproved { revision, at }),
        Approval::Rejected => accept(Event::AssetRejected {
            revision,
            reason,
            at,
        }),
        Approval::Revoked => accept(Event::AssetApprovalRevoked {
            revision,
            reason,
            at,
        }),
        // Only a new revision is pending; `may_become` has refused it above.
        Approval::PendingReview => Ok(Decision::Accepted(Vec::new())),
    }
}

pub(super) fn set_clearance(asset: &Asset, clearance: Clearance, at: DateTime<Utc>) -> Outcome {
    if clearance == Clearance::Public {
        let current = current(asset)?;
        let (revision, approval) = (current.number, current.approval);
        if approval != Approval::Approved {
            return Err(Rejection::NotApproved { revision, approval });
        }
    }
    if asset.clearance == clearance {
        return Ok(Decision::AlreadyApplied);
    }
    accept(Event::AssetClearanceSet { clearance, at })
}

/// Decides a rollback. The same one again is known by where it goes and why, whatever was looked at since.
pub(super) fn roll_back(asset: &Asset, wish: &Rollback, at: DateTime<Utc>) -> Outcome {
    let current = current(asset)?;
    let (to, reason) = (wish.to, clean_text(&wish.reason));
    if reason.trim().is_empty() {
        return Err(Rejection::NoReason);
    }
    match &current.origin {
        Origin::Rollback {
            to: last_to,
            reason: last_reason,
            ..
        } if *last_to == to && *last_reason == reason => return Ok(Decision::AlreadyApplied),
        Origin::Rollback { .. } | Origin::Job { .. } => {}
    }
    if to == current.number {
        return Err(Rejection::AlreadyCurrent { revision: to });
    }
    let earlier = find(asset, to, current.number)?;
    let check = wish.check.as_ref();
    let basis = basis(asset, earlier, check, wish.accept_unverified, at)?;
    accept(Event::AssetRolledBack {
        revision: asset.next_revision(),
        to,
        content_hash: earlier.content_hash.clone(),
        artifacts: earlier.artifacts.clone(),
        reason,
        basis: Some(basis),
        at,
    })
}

fn current(asset: &Asset) -> Result<&Revision, Rejection> {
    asset.revisions.last().ok_or(Rejection::NoRevision)
}

fn find(asset: &Asset, revision: u32, current: u32) -> Result<&Revision, Rejection> {
    asset
        .find(revision)
        .ok_or(Rejection::UnknownRevision { revision, current })
}
