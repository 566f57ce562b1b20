//! Rows of keys, sign-ins and sessions. All times are those of the database.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use super::token::Hash;

/// A key, without anything that opens a door.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize)]
pub struct Key {
    pub key_id: String,
    pub org_id: String,
    pub label: String,
    pub role: String,
    pub operator: bool,
    pub prefix: String,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub last_used_at: Option<DateTime<Utc>>,
}

/// What a key that may be used stands for.
#[derive(Debug, Clone, FromRow)]
pub(super) struct Live {
    pub(super) key_id: String,
    pub(super) org_id: String,
    pub(super) role: String,
    pub(super) operator: bool,
    pub(super) hash: Vec<u8>,
}

const KEY: &str = "select key_id, org_id, label, role, operator, prefix, created_by, created_at, expires_at, \
                   revoked_at, last_used_at from dagapp.api_keys";

pub(super) async fn live_key(pool: &PgPool, key_id: &str) -> sqlx::Result<Option<Live>> {
    sqlx::query_as(
        "select key_id, org_id, role, operator, hash from dagapp.api_keys
         where key_id = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())",
    )
    .bind(key_id)
    .fetch_optional(pool)
    .await
}

pub(super) async fn live_session(pool: &PgPool, session: &Hash) -> sqlx::Result<Option<Live>> {
    sqlx::query_as(
        "select k.key_id, k.org_id, k.role, k.operator, k.hash
         from dagapp.sessions s join dagapp.api_keys k using (key_id)
         where s.session_hash = $1 and s.expires_at > clock_timestamp() and k.revoked_at is null
           and (k.expires_at is null or k.expires_at > clock_timestamp())",
    )
    .bind(session.as_slice())
    .fetch_optional(pool)
    .await
}

/// A key to be made.
pub(super) struct Row<'a> {
    pub(super) key_id: &'a str,
    pub(super) org_id: &'a str,
    pub(super) label: &'a str,
    pub(super) role: &'a str,
    pub(super) operator: bool,
    pub(super) prefix: &'a str,
    pub(super) hash: &'a Hash,
    pub(super) created_by: &'a str,
    pub(super) lifetime: Option<Duration>,
}

/// Makes a key, and its organisation if that is new.
pub(super) async fn insert(pool: &PgPool, row: Row<'_>) -> sqlx::Result<Key> {
    sqlx::query_as(
        "with org as (
             insert into dagapp.orgs (org_id, name, slug) values ($2, $2, $2)
             on conflict do nothing returning org_id
         )
         insert into dagapp.api_keys
             (key_id, org_id, label, role, operator, prefix, hash, created_by, expires_at)
         select $1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + make_interval(secs => $9)
         from (select count(*) from org) made
         returning key_id, org_id, label, role, operator, prefix, created_by, created_at, expires_at,
                   revoked_at, last_used_at",
    )
    .bind(row.key_id)
    .bind(row.org_id)
    .bind(row.label)
    .bind(row.role)
    .bind(row.operator)
    .bind(row.prefix)
    .bind(row.hash.as_slice())
    .bind(row.created_by)
    .bind(row.lifetime.map(|lifetime| lifetime.as_secs_f64()))
    .fetch_one(pool)
    .await
}

/// Keys of an organisation, the newest first; of all with nothing.
pub(super) async fn list(
    pool: &PgPool,
    org_id: Option<&str>,
    limit: i64,
) -> sqlx::Result<Vec<Key>> {
    let mut query = sqlx::QueryBuilder::new(KEY);
    if let Some(org_id) = org_id {
        query.push(" where org_id = ").push_bind(org_id);
    }
    query
        .push(" order by created_at desc, key_id limit ")
        .push_bind(limit);
    query.build_query_as().fetch_all(pool).await
}

/// Ends a key; nothing if there is none of this id that the caller may see.
pub(super) async fn revoke(
    pool: &PgPool,
    org_id: Option<&str>,
    key_id: &str,
) -> sqlx::Result<Option<Key>> {
    sqlx::query_as(
        "update dagapp.api_keys set revoked_at = coalesce(revoked_at, clock_timestamp())
         where key_id = $1 and ($2::text is null or (org_id = $2 and not operator))
         returning key_id, org_id, label, role, operator, prefix, created_by, created_at, expires_at,
                   revoked_at, last_used_at",
    )
    .bind(key_id)
    .bind(org_id)
    .fetch_optional(pool)
    .await
}

pub(super) async fn touch(pool: &PgPool, key_ids: &[String]) -> sqlx::Result<()> {
    sqlx::query(
        "update dagapp.api_keys set last_used_at = clock_timestamp() where key_id = any($1)",
    )
    .bind(key_ids)
    .execute(pool)
    .await?;
    Ok(())
}

pub(super) async fn add_sign_in(
    pool: &PgPool,
    token: &Hash,
    key_id: &str,
    lifetime: Duration,
) -> sqlx::Result<()> {
    sqlx::query(
        "with gone as (delete from dagapp.sign_ins where expires_at < clock_timestamp()),
              old as (delete from dagapp.sessions where expires_at < clock_timestamp())
         insert into dagapp.sign_ins (token_hash, key_id, expires_at)
         values ($1, $2, clock_timestamp() + make_interval(secs => $3))",
    )
    .bind(token.as_slice())
    .bind(key_id)
    .bind(lifetime.as_secs_f64())
    .execute(pool)
    .await?;
    Ok(())
}

/// Uses a sign-in up; false if it was used before, or is too old.
pub(super) async fn redeem(
    pool: &PgPool,
    token: &Hash,
    session: &Hash,
    lifetime: Duration,
) -> sqlx::Result<bool> {
    let made = sqlx::query(
        "with used as (
             delete from dagapp.sign_ins where token_hash = $1 and expires_at > clock_timestamp() returning key_id
         )
         insert into dagapp.sessions (session_hash, key_id, expires_at)
         select $2, key_id, clock_timestamp() + make_interval(secs => $3) from used",
    )
    .bind(token.as_slice())
    .bind(session.as_slice())
    .bind(lifetime.as_secs_f64())
    .execute(pool)
    .await?;
    Ok(made.rows_affected() == 1)
}

pub(super) async fn end_session(pool: &PgPool, session: &Hash) -> sqlx::Result<()> {
    sqlx::query("delete from dagapp.sessions where session_hash = $1")
        .bind(session.as_slice())
        .execute(pool)
        .await?;
    Ok(())
}
