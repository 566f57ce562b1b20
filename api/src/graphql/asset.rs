//! Assets and their revisions.

use std::sync::Arc;

use async_graphql::connection::Connection;
use async_graphql::{Context, InputObject, Json, Object};
use chrono::{DateTime, Utc};
use projections::read::{self, AssetFilter as Filter, StreamFilter};
use projections::travel;
use serde_json::Value;

use super::context::{Position, core};
use super::event::Event;
use super::job::Job;
use super::loaders::{JobKey, Loaders, RevisionsOf};
use super::page;
use super::revision::Revision;
use super::travel::{self as past, Moment};
use super::words::{Approval, Clearance};
use crate::error::Fault;

/// Revisions of one asset that come with it.
const REVISIONS_MAX: usize = 200;

/// Which assets.
#[derive(Debug, Clone, Default, InputObject)]
pub(super) struct AssetFilter {
    platform: Option<String>,
    /// Those whose refs contain all of these.
    refs: Option<Json<serde_json::Map<String, Value>>>,
    approval: Option<Approval>,
    /// `pending`, `processing`, `completed` or `failed`.
    processing_status: Option<String>,
    /// The beginning of the id, or a part of the title or of a ref.
    text: Option<String>,
    #[graphql(default)]
    with_deleted: bool,
}

impl AssetFilter {
    pub(super) fn of(self, org: &str) -> Result<Filter, Fault> {
        let texts = [&self.platform, &self.processing_status, &self.text];
        let bad = |text: &String| text.len() > 200 || text.contains('\0');
        if texts.into_iter().flatten().any(bad) {
            let message = "a filter has at most 200 bytes of text, and no U+0000";
            return Err(Fault::invalid(
                "FILTER_TOO_LONG",
                message,
                "search for less",
            ));
        }
        Ok(Filter {
            org_id: Some(org.to_owned()),
            platform_id: self.platform,
            refs: self
                .refs
                .map(|refs| domain::json::clean(Value::Object(refs.0))),
            approval: self.approval.map(|approval| approval.word().to_owned()),
            processing_status: self.processing_status,
            text: self.text.filter(|text| !text.is_empty()),
            with_deleted: self.with_deleted,
            ..Filter::default()
        })
    }
}

/// A dataset of a partner, with the history of what was made of it.
pub(super) struct Asset(
    pub(super) read::Asset,
    pub(super) Option<Arc<travel::AssetAt>>,
);

impl Asset {
    pub(super) fn now(row: read::Asset) -> Self {
        Self(row, None)
    }

    fn moment(&self) -> Option<travel::Moment> {
        self.1.as_ref().map(|then| then.moment)
    }
}

#[Object]
impl Asset {
    async fn id(&self) -> &str {
        &self.0.asset_id
    }

    async fn platform_id(&self) -> &str {
        &self.0.platform_id
    }

    /// The partner's identifiers, exactly as they came; a semantic version is one of them, and opaque.
    async fn platform_refs(&self) -> Json<Value> {
        Json(self.0.platform_refs.clone())
    }

    async fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    async fn deleted(&self) -> bool {
        self.0.deleted
    }

    async fn clearance(&self) -> Clearance {
        Clearance::of(&self.0.clearance)
    }

    /// `pending`, `processing`, `completed` or `failed`.
    async fn processing_status(&self) -> &str {
        &self.0.processing_status
    }

    async fn current_job_id(&self) -> Option<&str> {
        self.0.current_job_id.as_deref()
    }

    async fn failure(&self) -> Option<Json<Value>> {
        self.0.failure.clone().map(Json)
    }

    /// Our own count of what was made of it, from 1; it has nothing to do with the partner's versions.
    async fn revision(&self) -> Option<i32> {
        self.0.revision
    }

    async fn content_hash(&self) -> Option<&str> {
        self.0.content_hash.as_deref()
    }

    /// The review of the current revision.
    async fn approval(&self) -> Approval {
        Approval::of(&self.0.approval)
    }

    async fn degraded(&self) -> bool {
        self.0.degraded
    }

    async fn created_at(&self) -> DateTime<Utc> {
        self.0.created_at
    }

    async fn updated_at(&self) -> DateTime<Utc> {
        self.0.updated_at
    }

    async fn position(&self) -> Position {
        Position(self.0.last_pos)
    }

    /// The moment that it is shown at; nothing if it is now.
    async fn as_of(&self) -> Option<Moment> {
        self.moment().map(Moment)
    }

    /// Its revisions, the oldest first; the newest two hundred if there are more.
    #[graphql(complexity = "5 + 10 * child_complexity")]
    async fn revisions(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<Revision>> {
        if let Some(then) = &self.1 {
            let newest = then.revisions.len().saturating_sub(REVISIONS_MAX);
            let rows = then.revisions.iter().skip(newest).cloned();
            return Ok(rows.map(|row| Revision::at(row, self.moment())).collect());
        }
        let key = RevisionsOf(self.0.asset_id.clone());
        let loaded = ctx.data::<Loaders>()?.load_one(key).await?;
        let now = |row| Revision::at(row, None);
        let rows = loaded.map(|rows| rows.iter().cloned().map(now).collect());
        Ok(rows.unwrap_or_default())
    }

    /// Its revisions page by page, the newest first unless asked otherwise; with who made and reviewed each, and why.
    #[graphql(complexity = "100 + page::cost(first, child_complexity)")]
    async fn history(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        after: Option<String>,
        #[graphql(default = true)] newest_first: bool,
    ) -> async_graphql::Result<Connection<String, Revision>> {
        let wanted = read::RevisionFilter {
            asset_id: self.0.asset_id.clone(),
            newest_first,
            limit: page::size(first)?,
            cursor: after.clone(),
        };
        let rows = match &self.1 {
            Some(then) => wanted.page_of(&then.revisions),
            None => read::revisions(&core(ctx)?.pool, &wanted).await,
        };
        let moment = self.moment();
        Ok(page::connection(
            rows.map_err(Fault::from)?,
            after.as_deref(),
            read::Revision::cursor,
            |row| Revision::at(row, moment),
        ))
    }

    #[graphql(complexity = "5 + child_complexity")]
    async fn current_job(&self, ctx: &Context<'_>) -> async_graphql::Result<Option<Job>> {
        let Some(id) = &self.0.current_job_id else {
            return Ok(None);
        };
        job_of(ctx, id, self.moment()).await
    }

    /// Its history.
    #[graphql(complexity = "200 + page::cost(first, child_complexity)")]
    async fn events(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        after: Option<String>,
        #[graphql(default)] newest_first: bool,
    ) -> async_graphql::Result<Connection<String, Event>> {
        let filter = StreamFilter {
            stream_id: format!("asset:{}", self.0.asset_id),
            kinds: Vec::new(),
            newest_first,
            upto: self.moment().map(|moment| moment.pos),
            limit: page::size(first)?,
            cursor: after.clone(),
        };
        let rows = read::stream_events(&core(ctx)?.pool, &filter).await;
        let rows = rows.map_err(Fault::from)?;
        let cursor = |row: &read::LogEvent| row.version.to_string();
        Ok(page::connection(rows, after.as_deref(), cursor, |row| {
            Event(Arc::new(row))
        }))
    }
}

/// A job at the moment of whatever names it.
pub(super) async fn job_of(
    ctx: &Context<'_>,
    id: &str,
    moment: Option<travel::Moment>,
) -> async_graphql::Result<Option<Job>> {
    if let Some(moment) = moment {
        return Ok(past::job(ctx, id, moment).await?);
    }
    let key = JobKey(id.to_owned());
    let loaded = ctx.data::<Loaders>()?.load_one(key).await?;
    Ok(loaded.map(Job::now))
}
