//! Workflows and their versions.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Error;

/// A row of `workflows`: one version.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize)]
pub struct Workflow {
    pub workflow_id: String,
    pub version: i32,
    pub hash: String,
    pub source: String,
    pub registered_at: DateTime<Utc>,
}

/// All versions of all workflows, or of one of them.
pub async fn workflows(pool: &PgPool, workflow_id: Option<&str>) -> Result<Vec<Workflow>, Error> {
    let rows = sqlx::query_as(
        "select workflow_id, version, hash, source, registered_at from dagapp.workflows
         where $1::text is null or workflow_id = $1 order by workflow_id, version",
    )
    .bind(workflow_id)
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// One version, or the latest.
pub async fn workflow(
    pool: &PgPool,
    workflow_id: &str,
    version: Option<i32>,
) -> Result<Option<Workflow>, Error> {
    let row = sqlx::query_as(
        "select workflow_id, version, hash, source, registered_at from dagapp.workflows
         where workflow_id = $1 and ($2::int is null or version = $2)
         order by version desc limit 1",
    )
    .bind(workflow_id)
    .bind(version)
    .fetch_optional(pool)
    .await?;
    Ok(row)
}
