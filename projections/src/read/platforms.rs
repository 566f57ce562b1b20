//! Platforms: what partners there are, and how they name things.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Error;

/// A row of `platforms`.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize)]
pub struct Platform {
    pub platform_id: String,
    pub name: String,
    pub required_refs: Vec<String>,
    pub optional_refs: Vec<String>,
    pub registered_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// All platforms; there are few.
pub async fn platforms(pool: &PgPool) -> Result<Vec<Platform>, Error> {
    let rows = sqlx::query_as(
        "select platform_id, name, required_refs, optional_refs, registered_at, updated_at
         from dagapp.platforms order by platform_id limit 1000",
    );
    Ok(rows.fetch_all(pool).await?)
}
