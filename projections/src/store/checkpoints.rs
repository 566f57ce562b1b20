//! How far each projector is and who leads it: `dagapp.projection_checkpoints`.
//!
//! All times are those of the database, so clocks of processes do not matter.

use std::time::Duration;

use sqlx::{Executor, Postgres};
use uuid::Uuid;

/// Which projector, of which version, run by whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) name: &'static str,
    pub(crate) version: i32,
    pub(crate) owner: Uuid,
}

/// Leadership with the position from which to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lead {
    pub(crate) epoch: i64,
    pub(crate) pos: i64,
}

/// Makes the row if it is not there, and says of which version it is.
pub(crate) async fn ensure(pool: &sqlx::PgPool, claim: Claim) -> sqlx::Result<i32> {
    sqlx::query(
        "insert into dagapp.projection_checkpoints (name, version) values ($1, $2)
         on conflict (name) do nothing",
    )
    .bind(claim.name)
    .bind(claim.version)
    .execute(pool)
    .await?;
    sqlx::query_scalar("select version from dagapp.projection_checkpoints where name = $1")
        .bind(claim.name)
        .fetch_one(pool)
        .await
}

/// Takes the lead if nobody has it, or its holder went silent; the epoch fences the one before.
pub(crate) async fn take<'c>(
    db: impl Executor<'c, Database = Postgres>,
    claim: Claim,
    ttl: Duration,
) -> sqlx::Result<Option<Lead>> {
    let row: Option<(i64, i64)> = sqlx::query_as(
        "update dagapp.projection_checkpoints
         set leader = $3, epoch = epoch + 1, expires_at = clock_timestamp() + make_interval(secs => $4)
         where name = $1 and version = $2
           and (leader is null or leader = $3 or expires_at < clock_timestamp())
         returning epoch, pos",
    )
    .bind(claim.name)
    .bind(claim.version)
    .bind(claim.owner)
    .bind(ttl.as_secs_f64())
    .fetch_optional(db)
    .await?;
    Ok(row.map(|(epoch, pos)| Lead { epoch, pos }))
}

/// Moves the position forward and renews the lead; `false` if any of it is not as it was left.
pub(crate) async fn advance<'c>(
    db: impl Executor<'c, Database = Postgres>,
    claim: Claim,
    lead: Lead,
    pos: i64,
    ttl: Duration,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update dagapp.projection_checkpoints
         set pos = $6, expires_at = clock_timestamp() + make_interval(secs => $7),
             updated_at = clock_timestamp()
         where name = $1 and version = $2 and leader = $3 and epoch = $4 and pos = $5",
    )
    .bind(claim.name)
    .bind(claim.version)
    .bind(claim.owner)
    .bind(lead.epoch)
    .bind(lead.pos)
    .bind(pos)
    .bind(ttl.as_secs_f64())
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives the lead up, so that another need not wait.
pub(crate) async fn release<'c>(
    db: impl Executor<'c, Database = Postgres>,
    claim: Claim,
    lead: Lead,
) -> sqlx::Result<()> {
    sqlx::query(
        "update dagapp.projection_checkpoints set leader = null, expires_at = '-infinity'
         where name = $1 and leader = $2 and epoch = $3",
    )
    .bind(claim.name)
    .bind(claim.owner)
    .bind(lead.epoch)
    .execute(db)
    .await?;
    Ok(())
}

/// The position of a projector; 0 if it never ran.
pub(crate) async fn position<'c>(
    db: impl Executor<'c, Database = Postgres>,
    name: &str,
) -> sqlx::Result<i64> {
    let pos: Option<i64> =
        sqlx::query_scalar("select pos from dagapp.projection_checkpoints where name = $1")
            .bind(name)
            .fetch_optional(db)
            .await?;
    Ok(pos.unwrap_or(0))
}
