//! `dagapp.callback_secrets`.

use std::time::Duration;

use sqlx::PgPool;

use super::error::LogError;

/// The organisation's own secret; made now if it has none.
pub(crate) async fn ensure(pool: &PgPool, org: &str) -> Result<String, LogError> {
    let made = sqlx::query_scalar("select dagapp.ensure_callback_secret($1)");
    Ok(made.bind(org).fetch_one(pool).await?)
}

/// Keeps a secret under a name, or finds the name that it has. One that was retired is live again.
pub(crate) async fn keep(
    pool: &PgPool,
    org: &str,
    name: &str,
    value: &str,
) -> Result<String, LogError> {
    let kept = sqlx::query_scalar(
        "insert into dagapp.callback_secrets (org_id, name, value) values ($1, $2, $3)
         on conflict (org_id, value) where name <> 'default' do update set retire_at = null
         returning name",
    );
    Ok(kept
        .bind(org)
        .bind(name)
        .bind(value)
        .fetch_one(pool)
        .await?)
}

/// Adds a new secret of a name, and lets the older ones live for `overlap`; nothing if there is none.
pub(crate) async fn rotate(
    pool: &PgPool,
    org: &str,
    name: &str,
    overlap: Duration,
) -> Result<Option<String>, LogError> {
    // The two newest stay at most: whoever rotates twice in a hurry has a reason.
    let rotated = sqlx::query_scalar(
        "with live as (
             select created_at, row_number() over (order by created_at desc) as nth
             from dagapp.callback_secrets
             where org_id = $1 and name = $2 and (retire_at is null or retire_at > clock_timestamp())
         ), retired as (
             update dagapp.callback_secrets s
             set retire_at = least(s.retire_at, clock_timestamp()
                 + case when l.nth = 1 then make_interval(secs => $3) else '0'::interval end)
             from live l where s.org_id = $1 and s.name = $2 and s.created_at = l.created_at
             returning 1
         )
         insert into dagapp.callback_secrets (org_id, name, value)
         select $1, $2, dagapp.new_callback_secret() where exists (select from retired)
         returning value",
    );
    let rotated = rotated.bind(org).bind(name).bind(overlap.as_secs_f64());
    Ok(rotated.fetch_optional(pool).await?)
}

/// The live secrets of these names, newest first.
pub(crate) async fn live(
    pool: &PgPool,
    org: &str,
    names: &[String],
) -> Result<Vec<(String, String)>, LogError> {
    let rows = sqlx::query_as(
        "select name, value from dagapp.callback_secrets
         where org_id = $1 and name = any($2) and (retire_at is null or retire_at > clock_timestamp())
         order by name, created_at desc",
    );
    Ok(rows.bind(org).bind(names).fetch_all(pool).await?)
}
