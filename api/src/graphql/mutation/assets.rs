//! What the platform side says of an asset.

use async_graphql::{Context, Object, SimpleObject};
use commands::review::Reviewed;
use commands::submit::Order;
use domain::access::Role;
use domain::asset::{AssetId, Command};
use projections::read;

use crate::error::Fault;
use crate::graphql::context::{Position, core, viewer};
use crate::graphql::words::Clearance;

/// What became of it.
#[derive(Debug, SimpleObject)]
pub(super) struct AssetPayload {
    /// Nothing if it was so before.
    position: Option<Position>,
    asset_id: String,
    /// It was so before.
    repeated: bool,
    /// Of a reprocessing: the new request and its job.
    request_id: Option<String>,
    job_id: Option<String>,
}

#[derive(Default)]
pub(super) struct Assets;

#[Object]
impl Assets {
    /// Approves a revision: the one that was looked at, or the current one.
    async fn approve(
        &self,
        ctx: &Context<'_>,
        asset_id: String,
        revision: Option<u32>,
    ) -> async_graphql::Result<AssetPayload> {
        review(ctx, &asset_id, Command::Approve { revision }).await
    }

    /// Turns a revision down.
    async fn reject(
        &self,
        ctx: &Context<'_>,
        asset_id: String,
        revision: Option<u32>,
        reason: String,
    ) -> async_graphql::Result<AssetPayload> {
        review(ctx, &asset_id, Command::Reject { revision, reason }).await
    }

    /// Takes an approval back.
    async fn revoke(
        &self,
        ctx: &Context<'_>,
        asset_id: String,
        revision: Option<u32>,
        reason: String,
    ) -> async_graphql::Result<AssetPayload> {
        review(ctx, &asset_id, Command::Revoke { revision, reason }).await
    }

    /// Says who may see an asset.
    async fn set_clearance(
        &self,
        ctx: &Context<'_>,
        asset_id: String,
        clearance: Clearance,
    ) -> async_graphql::Result<AssetPayload> {
        let clearance = clearance.domain();
        review(ctx, &asset_id, Command::SetClearance { clearance }).await
    }

    /// Hides an asset; its row and its history stay.
    async fn soft_delete(
        &self,
        ctx: &Context<'_>,
        asset_id: String,
    ) -> async_graphql::Result<AssetPayload> {
        review(ctx, &asset_id, Command::SoftDelete).await
    }

    /// Brings a deleted asset back.
    async fn restore(
        &self,
        ctx: &Context<'_>,
        asset_id: String,
    ) -> async_graphql::Result<AssetPayload> {
        review(ctx, &asset_id, Command::Restore).await
    }

    /// Runs the latest request of an asset again; when it completes there is a new revision.
    async fn reprocess(
        &self,
        ctx: &Context<'_>,
        asset_id: String,
    ) -> async_graphql::Result<AssetPayload> {
        let viewer = viewer(ctx)?.require(Role::Writer)?;
        let core = core(ctx)?;
        let id = asset_of(&asset_id)?;
        let filter = read::RequestFilter {
            org_id: Some(viewer.org().to_owned()),
            asset_id: Some(id.to_string()),
            limit: 1,
            ..read::RequestFilter::default()
        };
        let page = read::requests(&core.pool, &filter)
            .await
            .map_err(Fault::from)?;
        let last = page.items.into_iter().next();
        let last = last.ok_or_else(|| Fault::not_found("asset", &asset_id))?;
        let order = Order {
            org_id: viewer.org().to_owned(),
            actor: viewer.actor().to_owned(),
            platform_id: last.platform_id,
            refs: serde_json::from_value(last.refs)?,
            workflow_id: last.workflow_id,
            workflow_version: None,
            inputs: serde_json::from_value(last.inputs)?,
            priority: last.priority.parse().ok(),
            callbacks: serde_json::from_value(last.callbacks)?,
            retry_of: None,
            forked_from: None,
            idempotency_key: None,
            trace: viewer.trace.clone(),
        };
        let submitted = core.writer.submit(order).await.map_err(Fault::from)?;
        Ok(AssetPayload {
            position: Some(submitted.pos.into()),
            asset_id,
            repeated: submitted.repeated,
            request_id: Some(submitted.request_id.to_string()),
            job_id: Some(submitted.job_id.to_string()),
        })
    }
}

pub(super) fn asset_of(text: &str) -> Result<AssetId, Fault> {
    text.parse().map_err(|_| Fault::not_found("asset", text))
}

async fn review(
    ctx: &Context<'_>,
    asset_id: &str,
    command: Command,
) -> async_graphql::Result<AssetPayload> {
    let viewer = viewer(ctx)?.require(Role::Admin)?;
    let id = asset_of(asset_id)?;
    let reviewed = core(ctx)?
        .writer
        .review(viewer.org(), id, command, viewer.actor());
    let reviewed = reviewed.await.map_err(Fault::from)?;
    let (position, repeated) = match reviewed {
        Reviewed::Applied { pos } => (Some(pos.into()), false),
        Reviewed::AlreadyApplied => (None, true),
    };
    Ok(AssetPayload {
        position,
        asset_id: id.to_string(),
        repeated,
        request_id: None,
        job_id: None,
    })
}
