//! `workflows` and `platforms`.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

/// One registered version of a workflow.
#[derive(Debug)]
pub(crate) struct WorkflowRow {
    pub(crate) workflow_id: String,
    pub(crate) version: i32,
    pub(crate) hash: String,
    pub(crate) source: String,
    pub(crate) handlers: serde_json::Value,
    pub(crate) at: DateTime<Utc>,
    pub(crate) pos: i64,
}

/// What became known of a platform; the required refs only when it is new.
#[derive(Debug)]
pub(crate) struct PlatformRow {
    pub(crate) platform_id: String,
    pub(crate) name: String,
    pub(crate) required_refs: Option<Vec<String>>,
    pub(crate) optional_refs: Vec<String>,
    pub(crate) at: DateTime<Utc>,
    pub(crate) pos: i64,
}

/// Keeps versions; the first content of a version stands.
pub(crate) async fn add_workflows(db: &mut PgConnection, rows: &[WorkflowRow]) -> sqlx::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "insert into workflows (workflow_id, version, hash, source, handlers, registered_at, pos)
         select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::jsonb[], $6::timestamptz[],
                              $7::bigint[])
         on conflict (workflow_id, version) do nothing",
    )
    .bind(rows.iter().map(|r| r.workflow_id.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|r| r.version).collect::<Vec<_>>())
    .bind(rows.iter().map(|r| r.hash.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|r| r.source.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|r| r.handlers.clone()).collect::<Vec<_>>())
    .bind(rows.iter().map(|r| r.at).collect::<Vec<_>>())
    .bind(rows.iter().map(|r| r.pos).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

/// Makes or changes platforms, one by one: there are a handful in the life of an installation.
pub(crate) async fn put_platforms(db: &mut PgConnection, rows: &[PlatformRow]) -> sqlx::Result<()> {
    for row in rows {
        let statement = match &row.required_refs {
            Some(_) => {
                "insert into platforms
                     (platform_id, name, optional_refs, registered_at, updated_at, last_pos, required_refs)
                 values ($1, $2, $3, $4, $4, $5, $6)
                 on conflict (platform_id) do nothing"
            }
            None => {
                "update platforms
                 set name = $2, optional_refs = $3, updated_at = $4, last_pos = $5
                 where platform_id = $1 and $6::text[] is null"
            }
        };
        sqlx::query(statement)
            .bind(&row.platform_id)
            .bind(&row.name)
            .bind(&row.optional_refs)
            .bind(row.at)
            .bind(row.pos)
            .bind(&row.required_refs)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}
