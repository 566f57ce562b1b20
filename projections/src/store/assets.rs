//! `assets` and `asset_revisions`.

use chrono::{DateTime, Utc};
use domain::asset::{Processing, Revision, State};
use sqlx::PgConnection;

use crate::Error;

/// An asset as it stands after the batch.
#[derive(Debug)]
pub(crate) struct AssetRow<'a> {
    pub(crate) state: &'a State,
    pub(crate) at: DateTime<Utc>,
    pub(crate) pos: i64,
    /// The revisions that the batch made or changed, each with the position at which it did last.
    pub(crate) revisions: Vec<(&'a Revision, i64)>,
}

/// Makes or changes assets.
pub(crate) async fn upsert(db: &mut PgConnection, rows: &[AssetRow<'_>]) -> Result<(), Error> {
    let assets: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((row.state.asset()?, row)))
        .collect();
    if assets.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            assets.iter().map($of).collect::<Vec<_>>()
        };
    }
    let refs = assets
        .iter()
        .map(|(a, _)| serde_json::to_string(&a.platform_refs));
    let failures = assets.iter().map(|(_, r)| match r.state.processing() {
        Processing::Failed { failure, .. } => serde_json::to_string(failure).map(Some),
        _ => Ok(None),
    });
    let revision = |r: &AssetRow<'_>| r.state.revision().and_then(|n| i32::try_from(n).ok());
    let hash = |state: &State| state.current().map(|r| r.content_hash.clone());
    sqlx::query(
        "insert into assets
             (asset_id, org_id, platform_id, platform_refs, title, deleted, clearance, processing_status,
              current_job_id, failure, revision, content_hash, approval, created_at, updated_at, last_pos)
         select u.asset_id, u.org_id, u.platform_id, u.refs::jsonb, u.title, u.deleted, u.clearance, u.processing,
                u.job_id, u.failure::jsonb, u.revision, u.hash, u.approval, u.created_at, u.at, u.pos
         from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bool[], $7::text[],
                     $8::text[], $9::text[], $10::text[], $11::int[], $12::text[], $13::text[],
                     $14::timestamptz[], $15::timestamptz[], $16::bigint[])
              as u (asset_id, org_id, platform_id, refs, title, deleted, clearance, processing, job_id, failure,
                    revision, hash, approval, created_at, at, pos)
         on conflict (asset_id) do update
         set deleted = excluded.deleted, clearance = excluded.clearance,
             processing_status = excluded.processing_status, current_job_id = excluded.current_job_id,
             failure = excluded.failure, revision = excluded.revision, content_hash = excluded.content_hash,
             approval = excluded.approval, updated_at = excluded.updated_at, last_pos = excluded.last_pos",
    )
    .bind(column!(|(a, _)| a.asset_id.to_string()))
    .bind(column!(|(a, _)| a.org_id.as_str()))
    .bind(column!(|(a, _)| a.platform_id.as_str()))
    .bind(refs.collect::<Result<Vec<_>, _>>()?)
    .bind(column!(|(a, _)| a.title.as_deref()))
    .bind(column!(|(_, r)| r.state.is_deleted()))
    .bind(column!(|(_, r)| r.state.clearance().as_str()))
    .bind(column!(|(_, r)| r.state.processing().as_str()))
    .bind(column!(|(_, r)| r.state.processing().job_id().map(|id| id.to_string())))
    .bind(failures.collect::<Result<Vec<_>, _>>()?)
    .bind(column!(|(_, r)| revision(r)))
    .bind(column!(|(_, r)| hash(r.state)))
    .bind(column!(|(_, r)| r.state.approval().as_str()))
    .bind(column!(|(a, _)| a.created_at))
    .bind(column!(|(_, r)| r.at))
    .bind(column!(|(_, r)| r.pos))
    .execute(&mut *db)
    .await?;
    let revisions: Vec<_> = assets
        .iter()
        .flat_map(|(a, r)| {
            r.revisions
                .iter()
                .map(|(v, pos)| (a.asset_id.to_string(), *v, *pos))
        })
        .collect();
    upsert_revisions(db, &revisions).await
}

async fn upsert_revisions(
    db: &mut PgConnection,
    rows: &[(String, &Revision, i64)],
) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        ($of:expr) => {
            rows.iter().map($of).collect::<Vec<_>>()
        };
    }
    let artifacts = rows
        .iter()
        .map(|(_, r, _)| serde_json::to_string(&r.artifacts));
    let origins = rows
        .iter()
        .map(|(_, r, _)| serde_json::to_string(&r.origin));
    sqlx::query(
        "insert into asset_revisions
             (asset_id, revision, content_hash, artifacts, origin, approval, approval_reason, created_at, last_pos)
         select u.asset_id, u.revision, u.hash, u.artifacts::jsonb, u.origin::jsonb, u.approval, u.reason, u.at,
                u.pos
         from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                     $8::timestamptz[], $9::bigint[])
              as u (asset_id, revision, hash, artifacts, origin, approval, reason, at, pos)
         on conflict (asset_id, revision) do update
         set approval = excluded.approval, approval_reason = excluded.approval_reason,
             last_pos = excluded.last_pos",
    )
    .bind(column!(|(id, _, _)| id.as_str()))
    .bind(column!(|(_, r, _)| i32::try_from(r.number).unwrap_or(i32::MAX)))
    .bind(column!(|(_, r, _)| r.content_hash.as_str()))
    .bind(artifacts.collect::<Result<Vec<_>, _>>()?)
    .bind(origins.collect::<Result<Vec<_>, _>>()?)
    .bind(column!(|(_, r, _)| r.approval.as_str()))
    .bind(column!(|(_, r, _)| r.approval_reason.as_deref()))
    .bind(column!(|(_, r, _)| r.created_at))
    .bind(column!(|(_, _, pos)| *pos))
    .execute(db)
    .await?;
    Ok(())
}
