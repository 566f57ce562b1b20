//! An asset with its revisions as it was: folded by the domain, as the read models do it.

use chrono::{DateTime, SubsecRound as _, Utc};
use domain::asset::{Origin, Processing, Revision, State, evolve};
use domain::event::Event;

use super::{EVENTS_PER_READ, Moment, Traveller};
use crate::Error;
use crate::read;
use crate::store::travel as store;

/// An asset at some moment.
#[derive(Debug, Clone)]
pub struct AssetAt {
    pub moment: Moment,
    pub asset: read::Asset,
    /// The oldest first.
    pub revisions: Vec<read::Revision>,
}

impl Traveller {
    /// An asset as it was; nothing if there is no such asset, or it is not of the organisation. One that was made
    /// later is an error that says when.
    pub async fn asset(
        &self,
        org_id: Option<&str>,
        asset_id: &str,
        moment: Moment,
    ) -> Result<Option<AssetAt>, Error> {
        let stream = format!("asset:{asset_id}");
        if !self.exists("asset", &stream, org_id, moment).await? {
            return Ok(None);
        }
        let mut state = State::default();
        let mut touched = moment;
        let mut last = (0, 0);
        loop {
            let page =
                store::events(&self.pool, &stream, last, moment.pos, EVENTS_PER_READ).await?;
            let Some(end) = page.last() else { break };
            last = (end.version, end.pos);
            for entry in &page {
                let Event::Asset(event) = entry.decode()? else {
                    continue;
                };
                state = evolve(state, &event);
                touched = Moment {
                    pos: entry.pos,
                    recorded_at: entry.recorded_at,
                };
            }
        }
        Ok(row(&state, touched)?.map(|asset| AssetAt {
            moment,
            revisions: revisions(&asset.asset_id, &state),
            asset,
        }))
    }
}

fn row(state: &State, touched: Moment) -> Result<Option<read::Asset>, Error> {
    let Some(asset) = state.asset() else {
        return Ok(None);
    };
    let failure = match state.processing() {
        Processing::Failed { failure, .. } => Some(serde_json::to_value(failure)?),
        _ => None,
    };
    Ok(Some(read::Asset {
        asset_id: asset.asset_id.to_string(),
        org_id: asset.org_id.clone(),
        platform_id: asset.platform_id.clone(),
        platform_refs: serde_json::to_value(&asset.platform_refs)?,
        title: asset.title.clone(),
        deleted: state.is_deleted(),
        clearance: state.clearance().as_str().to_owned(),
        processing_status: state.processing().as_str().to_owned(),
        current_job_id: state.processing().job_id().map(|id| id.to_string()),
        failure,
        revision: state.revision().and_then(|n| i32::try_from(n).ok()),
        content_hash: state
            .current()
            .map(|revision| revision.content_hash.clone()),
        approval: state.approval().as_str().to_owned(),
        degraded: false,
        created_at: as_kept(asset.created_at),
        updated_at: touched.recorded_at,
        last_pos: touched.pos,
    }))
}

fn revisions(asset_id: &str, state: &State) -> Vec<read::Revision> {
    let one = |revision: &Revision| read::Revision {
        asset_id: asset_id.to_owned(),
        revision: i32::try_from(revision.number).unwrap_or(i32::MAX),
        content_hash: revision.content_hash.clone(),
        artifacts: serde_json::to_value(&revision.artifacts).unwrap_or_default(),
        origin: origin(&revision.origin),
        approval: revision.approval.as_str().to_owned(),
        approval_reason: revision.approval_reason.clone(),
        created_at: as_kept(revision.created_at),
    };
    state.revisions().iter().map(one).collect()
}

/// Tables keep microseconds.
fn as_kept(at: DateTime<Utc>) -> DateTime<Utc> {
    at.trunc_subsecs(6)
}

fn origin(origin: &Origin) -> serde_json::Value {
    serde_json::to_value(origin).unwrap_or_default()
}
