//! Which events follow from a command, or why it is refused.

use chrono::{DateTime, Utc};

use super::decide_processing::{begin, complete, fail};
use super::decide_review::{review, roll_back, set_clearance};
use super::limits::check_identity;
use super::state::Presence;
use super::{Approval, Asset, AssetId, Command, Event, Rejection, State, ownership};
use crate::context::Context;
use crate::json::clean_text;
use crate::outcome::Decision;
use crate::platform::Refs;

pub(super) type Outcome = Result<Decision<Event>, Rejection>;

/// Decides a command on one asset; who may give it comes before anything else.
pub fn decide(
    state: &State,
    command: Command,
    ctx: &Context,
) -> Result<Decision<Event>, Rejection> {
    ownership::check(&command, ctx.actor.role)?;
    let at = ctx.now;
    match command {
        Command::Create {
            asset_id,
            org_id,
            platform_id,
            platform_refs,
            title,
        } => create(
            state,
            asset_id,
            org_id,
            platform_id,
            platform_refs,
            title,
            at,
        ),
        Command::SoftDelete => soft_delete(state, at),
        Command::Restore => restore(state, at),
        Command::Approve { revision } => {
            review(live(state)?, revision, Approval::Approved, None, at)
        }
        Command::Reject { revision, reason } => {
            review(live(state)?, revision, Approval::Rejected, Some(reason), at)
        }
        Command::Revoke { revision, reason } => {
            review(live(state)?, revision, Approval::Revoked, Some(reason), at)
        }
        Command::SetClearance { clearance } => set_clearance(live(state)?, clearance, at),
        Command::BeginProcessing { job_id } => begin(live(state)?, job_id, at),
        Command::CompleteProcessing {
            job_id,
            content_hash,
            artifacts,
        } => complete(live(state)?, job_id, content_hash, artifacts, at),
        Command::FailProcessing { job_id, failure } => fail(live(state)?, job_id, failure, at),
        Command::Rollback(wish) => roll_back(live(state)?, &wish, at),
        Command::Carry => Ok(carry(state, at)),
    }
}

/// Deleted assets too: they can be restored.
fn carry(state: &State, at: DateTime<Utc>) -> Decision<Event> {
    let carried = state.asset().map(|asset| Event::AssetCarried {
        asset: Box::new(asset.clone()),
        at,
    });
    Decision::Accepted(carried.into_iter().collect())
}

fn create(
    state: &State,
    asset_id: AssetId,
    org_id: String,
    platform_id: String,
    platform_refs: Refs,
    title: Option<String>,
    at: DateTime<Utc>,
) -> Outcome {
    if state.asset().is_some() {
        let asset = live(state)?;
        // A title that differs is no reason to refuse: the asset exists, which is what was asked.
        let same = asset.platform_id == platform_id && asset.platform_refs == platform_refs;
        return if same {
            Ok(Decision::AlreadyApplied)
        } else {
            let asset_id = asset.asset_id;
            Err(Rejection::RefsAreImmutable { asset_id })
        };
    }
    check_identity(asset_id, &org_id, &platform_id, &platform_refs)?;
    accept(Event::AssetCreated {
        asset_id,
        org_id,
        platform_id,
        platform_refs,
        title: title.map(|title| clean_text(&title)),
        at,
    })
}

fn soft_delete(state: &State, at: DateTime<Utc>) -> Outcome {
    match existing(state)?.presence {
        Presence::Deleted => Ok(Decision::AlreadyApplied),
        Presence::Live | Presence::Restored => accept(Event::AssetDeleted { at }),
    }
}

fn restore(state: &State, at: DateTime<Utc>) -> Outcome {
    let asset = existing(state)?;
    match asset.presence {
        Presence::Deleted => accept(Event::AssetRestored { at }),
        Presence::Restored => Ok(Decision::AlreadyApplied),
        Presence::Live => Err(Rejection::NotDeleted {
            asset_id: asset.asset_id,
        }),
    }
}

fn existing(state: &State) -> Result<&Asset, Rejection> {
    state.asset().ok_or(Rejection::NotFound)
}

/// The asset, unless it is deleted.
fn live(state: &State) -> Result<&Asset, Rejection> {
    let asset = existing(state)?;
    if asset.presence == Presence::Deleted {
        let asset_id = asset.asset_id;
        return Err(Rejection::Deleted { asset_id });
    }
    Ok(asset)
}

pub(super) fn accept(event: Event) -> Outcome {
    Ok(Decision::Accepted(vec![event]))
}
