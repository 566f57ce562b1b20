//! Assets and their revisions.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool, QueryBuilder};

use super::{Page, limit, parse_time_cursor, time_cursor};
use crate::Error;

/// A row of `assets`.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct Asset {
    pub asset_id: String,
    pub org_id: String,
    pub platform_id: String,
    pub platform_refs: Value,
    pub title: Option<String>,
    pub deleted: bool,
    pub clearance: String,
    pub processing_status: String,
    pub current_job_id: Option<String>,
    pub failure: Option<Value>,
    pub revision: Option<i32>,
    pub content_hash: Option<String>,
    pub approval: String,
    pub degraded: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub last_pos: i64,
}

/// A row of `asset_revisions`.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct Revision {
    pub asset_id: String,
    pub revision: i32,
    pub content_hash: String,
    pub artifacts: Value,
    pub origin: Value,
    pub approval: String,
    pub approval_reason: Option<String>,
    pub created_at: DateTime<Utc>,
}

impl Asset {
    /// Where the list goes on after this row.
    #[must_use]
    pub fn cursor(&self) -> String {
        time_cursor(self.created_at, &self.asset_id)
    }
}

impl Revision {
    /// Where the list goes on after this row.
    #[must_use]
    pub fn cursor(&self) -> String {
        self.revision.to_string()
    }
}

/// Which assets to list.
#[derive(Debug, Clone, Default)]
pub struct AssetFilter {
    pub org_id: Option<String>,
    pub platform_id: Option<String>,
    /// Those whose refs contain all of these.
    pub refs: Option<Value>,
    pub approval: Option<String>,
    pub processing_status: Option<String>,
    /// The beginning of the id, or a part of the title or of a ref.
    pub text: Option<String>,
    /// Deleted ones are hidden without it.
    pub with_deleted: bool,
    pub limit: i64,
    pub cursor: Option<String>,
}

const SELECT: &str =
    "select asset_id, org_id, platform_id, platform_refs, title, deleted, clearance, processing_status,
            current_job_id, failure, revision, content_hash, approval, degraded, created_at, updated_at,
            last_pos
     from dagapp.assets";

/// Assets, newest first.
pub async fn assets(pool: &PgPool, filter: &AssetFilter) -> Result<Page<Asset>, Error> {
    let limit = limit(filter.limit);
    let cursor = parse_time_cursor(filter.cursor.as_deref())?;
    let mut query = QueryBuilder::new(SELECT);
    query.push(" where true");
    for (column, wanted) in [
        (" and org_id = ", &filter.org_id),
        (" and platform_id = ", &filter.platform_id),
        (" and approval = ", &filter.approval),
        (" and processing_status = ", &filter.processing_status),
    ] {
        if let Some(wanted) = wanted {
            query.push(column).push_bind(wanted.clone());
        }
    }
    if !filter.with_deleted {
        query.push(" and not deleted");
    }
    if let Some(refs) = &filter.refs {
        query.push(" and platform_refs @> ").push_bind(refs.clone());
    }
    if let Some(text) = &filter.text {
        query
            .push(" and (starts_with(asset_id, ")
            .push_bind(text.clone());
        query.push(") or position(lower(").push_bind(text.clone());
        query.push(") in lower(coalesce(title, '') || ' ' || platform_refs::text)) > 0)");
    }
    if let Some((at, id)) = cursor {
        query.push(" and (created_at, asset_id) < (");
        query.push_bind(at).push(", ").push_bind(id).push(")");
    }
    query.push(" order by created_at desc, asset_id desc limit ");
    query.push_bind(limit + 1);
    let rows = query.build_query_as().persistent(false).fetch_all(pool);
    Ok(Page::cut(rows.await?, limit, Asset::cursor))
}

/// Those of these assets that belong to the organisation, deleted or not, in no order.
pub async fn assets_by_id(
    pool: &PgPool,
    org_id: &str,
    ids: &[String],
) -> Result<Vec<Asset>, Error> {
    let mut query = QueryBuilder::new(SELECT);
    query.push(" where asset_id = any(").push_bind(ids);
    query.push(") and org_id = ").push_bind(org_id);
    Ok(query.build_query_as().fetch_all(pool).await?)
}

/// The revisions of several assets, oldest first; the newest `each` of every one.
pub async fn revisions_of_assets(
    pool: &PgPool,
    ids: &[String],
    each: i64,
) -> Result<Vec<Revision>, Error> {
    let rows = sqlx::query_as(
        "select r.* from unnest($1::text[]) as a (asset_id) cross join lateral (
             select asset_id, revision, content_hash, artifacts, origin, approval, approval_reason, created_at
             from dagapp.asset_revisions s where s.asset_id = a.asset_id
             order by revision desc limit $2
         ) r order by r.asset_id, r.revision",
    );
    Ok(rows.bind(ids).bind(limit(each)).fetch_all(pool).await?)
}
