//! `dagapp.dead_letters`: messages that nobody could make sense of.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{Executor, FromRow, PgPool, Postgres};

/// One message, cut to what is kept of it.
#[derive(Debug, Clone, FromRow, Serialize)]
pub struct DeadLetter {
    pub id: i64,
    pub subject: String,
    pub reason: String,
    /// What is kept of the message.
    pub payload: Vec<u8>,
    /// Its length before it was cut.
    pub size_bytes: i64,
    pub received_at: DateTime<Utc>,
}

/// Keeps a message; only the newest `keep` stay.
pub(crate) async fn insert(
    pool: &PgPool,
    subject: &str,
    reason: &str,
    payload: &[u8],
    size_bytes: i64,
    keep: i64,
) -> sqlx::Result<i64> {
    let id: i64 = sqlx::query_scalar(
        "insert into dagapp.dead_letters (subject, reason, payload, size_bytes) values ($1, $2, $3, $4)
         returning id",
    )
    .bind(subject.replace('\0', ""))
    .bind(reason.replace('\0', ""))
    .bind(payload)
    .bind(size_bytes)
    .fetch_one(pool)
    .await?;
    // Ids only grow, so the bound can be kept without counting.
    sqlx::query("delete from dagapp.dead_letters where id <= $1 - $2")
        .bind(id)
        .bind(keep)
        .execute(pool)
        .await?;
    Ok(id)
}

/// The newest first, before the given id.
pub(crate) async fn list<'c>(
    db: impl Executor<'c, Database = Postgres>,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<DeadLetter>> {
    sqlx::query_as(
        "select id, subject, reason, payload, size_bytes, received_at from dagapp.dead_letters
         where id < coalesce($1, 9223372036854775807) order by id desc limit $2",
    )
    .bind(before)
    .bind(limit)
    .fetch_all(db)
    .await
}

/// One of them.
pub(crate) async fn find<'c>(
    db: impl Executor<'c, Database = Postgres>,
    id: i64,
) -> sqlx::Result<Option<DeadLetter>> {
    sqlx::query_as(
        "select id, subject, reason, payload, size_bytes, received_at from dagapp.dead_letters where id = $1",
    )
    .bind(id)
    .fetch_optional(db)
    .await
}

/// Removes one; `false` if it is not there.
pub(crate) async fn discard<'c>(
    db: impl Executor<'c, Database = Postgres>,
    id: i64,
) -> sqlx::Result<bool> {
    let done = sqlx::query("delete from dagapp.dead_letters where id = $1")
        .bind(id)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}
