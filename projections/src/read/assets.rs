//! Assets and their revisions.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool};

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

/// Which assets to list.
#[derive(Debug, Clone, Default)]
pub struct AssetFilter {
    pub org_id: Option<String>,
    /// Deleted ones are hidden without it.
    pub with_deleted: bool,
    pub limit: i64,
    pub cursor: Option<String>,
}

/// Assets, newest first.
pub async fn assets(pool: &PgPool, filter: &AssetFilter) -> Result<Page<Asset>, Error> {
    let limit = limit(filter.limit);
    let cursor = parse_time_cursor(filter.cursor.as_deref())?;
    let rows = sqlx::query_as(
        "select asset_id, org_id, platform_id, platform_refs, title, deleted, clearance, processing_status,
                current_job_id, failure, revision, content_hash, approval, degraded, created_at, updated_at,
                last_pos
         from dagapp.assets
         where ($1::text is null or org_id = $1) and ($2 or not deleted)
           and ($3::timestamptz is null or (created_at, asset_id) < ($3, $4::text))
         order by created_at desc, asset_id desc limit $5",
    )
    .persistent(false)
    .bind(&filter.org_id)
    .bind(filter.with_deleted)
    .bind(cursor.map(|(at, _)| at))
    .bind(cursor.map(|(_, id)| id))
    .bind(limit + 1)
    .fetch_all(pool)
    .await?;
    Ok(Page::cut(rows, limit, |asset: &Asset| {
        time_cursor(asset.created_at, &asset.asset_id)
    }))
}

/// One asset, deleted or not.
pub async fn asset(pool: &PgPool, asset_id: &str) -> Result<Option<Asset>, Error> {
    let row = sqlx::query_as(
        "select asset_id, org_id, platform_id, platform_refs, title, deleted, clearance, processing_status,
                current_job_id, failure, revision, content_hash, approval, degraded, created_at, updated_at,
                last_pos
         from dagapp.assets where asset_id = $1",
    )
    .bind(asset_id)
    .fetch_optional(pool)
    .await?;
    Ok(row)
}

/// The revisions of an asset, oldest first, after `revision`.
pub async fn revisions(
    pool: &PgPool,
    asset_id: &str,
    revision: i32,
    wanted: i64,
) -> Result<Vec<Revision>, Error> {
    let rows = sqlx::query_as(
        "select asset_id, revision, content_hash, artifacts, origin, approval, approval_reason, created_at
         from dagapp.asset_revisions where asset_id = $1 and revision > $2 order by revision limit $3",
    )
    .bind(asset_id)
    .bind(revision)
    .bind(limit(wanted))
    .fetch_all(pool)
    .await?;
    Ok(rows)
}
