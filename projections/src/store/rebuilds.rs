//! The rebuild that is under way: `dagapp.rebuilds`, and the streams that its fill set aside.
//!
//! All times are those of the database, so clocks of processes do not matter.

use std::time::Duration;

use sqlx::{Executor, FromRow, PgConnection, Postgres};
use uuid::Uuid;

/// Who holds which rebuild; the epoch fences whoever held it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) name: &'static str,
    pub(crate) owner: Uuid,
    pub(crate) epoch: i64,
}

/// Where a rebuild is that was taken.
#[derive(Debug, Clone, FromRow)]
pub(crate) struct Taken {
    pub(crate) version: i32,
    pub(crate) phase: String,
    pub(crate) upto: i64,
    pub(crate) pos: i64,
    pub(crate) epoch: i64,
}

/// What came of asking for it.
#[derive(Debug)]
pub(crate) enum Take {
    Taken(Taken),
    /// Another process is at it.
    Held,
    /// It was begun by a newer build.
    Newer(i32),
}

/// Begins a rebuild, or takes over one whose owner went silent.
pub(crate) async fn take(
    tx: &mut PgConnection,
    name: &str,
    version: i32,
    owner: Uuid,
    ttl: Duration,
) -> sqlx::Result<Take> {
    sqlx::query(
        "insert into dagapp.rebuilds (name, version) values ($1, $2) on conflict (name) do nothing",
    )
    .bind(name)
    .bind(version)
    .execute(&mut *tx)
    .await?;
    // Waits for whoever writes under an older epoch.
    let (found, free): (i32, bool) = sqlx::query_as(
        "select version, owner is null or owner = $2 or expires_at < clock_timestamp()
         from dagapp.rebuilds where name = $1 for update",
    )
    .bind(name)
    .bind(owner)
    .fetch_one(&mut *tx)
    .await?;
    if found > version {
        return Ok(Take::Newer(found));
    }
    if !free {
        return Ok(Take::Held);
    }
    let taken = sqlx::query_as(
        "update dagapp.rebuilds
         set owner = $2, epoch = epoch + 1, cancelled = false, updated_at = clock_timestamp(),
             expires_at = clock_timestamp() + make_interval(secs => $3),
             phase = case when version = $4 then phase else 'fill' end, version = $4
         where name = $1 returning version, phase, upto, pos, epoch",
    )
    .bind(name)
    .bind(owner)
    .bind(ttl.as_secs_f64())
    .bind(version)
    .fetch_one(tx)
    .await?;
    Ok(Take::Taken(taken))
}

/// What a sign of life was answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beat {
    Held,
    Cancelled,
    Lost,
}

/// Renews the hold; while the tables are filled, says how far that is.
pub(crate) async fn beat<'c>(
    db: impl Executor<'c, Database = Postgres>,
    hold: Hold,
    pos: i64,
    ttl: Duration,
) -> sqlx::Result<Beat> {
    let cancelled: Option<bool> = sqlx::query_scalar(
        "update dagapp.rebuilds
         set expires_at = clock_timestamp() + make_interval(secs => $5), updated_at = clock_timestamp(),
             pos = case when phase = 'fill' then $4 else pos end
         where name = $1 and owner = $2 and epoch = $3
         returning cancelled",
    )
    .bind(hold.name)
    .bind(hold.owner)
    .bind(hold.epoch)
    .bind(pos)
    .bind(ttl.as_secs_f64())
    .fetch_optional(db)
    .await?;
    Ok(match cancelled {
        None => Beat::Lost,
        Some(true) => Beat::Cancelled,
        Some(false) => Beat::Held,
    })
}

/// Keeps others from taking it over until the transaction ends; `false` if one has.
pub(crate) async fn keep(tx: &mut PgConnection, hold: Hold) -> sqlx::Result<bool> {
    let found: Option<i32> = sqlx::query_scalar(
        "select 1 from dagapp.rebuilds where name = $1 and owner = $2 and epoch = $3 for key share",
    )
    .bind(hold.name)
    .bind(hold.owner)
    .bind(hold.epoch)
    .fetch_optional(tx)
    .await?;
    Ok(found.is_some())
}

/// Enters a phase; `false` if the hold is lost.
pub(crate) async fn enter(
    tx: &mut PgConnection,
    hold: Hold,
    phase: &str,
    upto: i64,
    pos: i64,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update dagapp.rebuilds
         set phase = $4, upto = $5, pos = $6, phase_at = clock_timestamp(), updated_at = clock_timestamp()
         where name = $1 and owner = $2 and epoch = $3",
    )
    .bind(hold.name)
    .bind(hold.owner)
    .bind(hold.epoch)
    .bind(phase)
    .bind(upto)
    .bind(pos)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Moves on from one position to another; `false` if any of it is not as it was left.
pub(crate) async fn advance(
    tx: &mut PgConnection,
    hold: Hold,
    from: i64,
    to: i64,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update dagapp.rebuilds set pos = $5, updated_at = clock_timestamp()
         where name = $1 and owner = $2 and epoch = $3 and pos = $4",
    )
    .bind(hold.name)
    .bind(hold.owner)
    .bind(hold.epoch)
    .bind(from)
    .bind(to)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Leaves it to be finished by whoever comes next.
pub(crate) async fn release<'c>(
    db: impl Executor<'c, Database = Postgres>,
    hold: Hold,
) -> sqlx::Result<()> {
    sqlx::query(
        "update dagapp.rebuilds set owner = null, expires_at = '-infinity'
         where name = $1 and owner = $2 and epoch = $3",
    )
    .bind(hold.name)
    .bind(hold.owner)
    .bind(hold.epoch)
    .execute(db)
    .await?;
    Ok(())
}

/// Asks whoever is at it to stop; `None` if there is no rebuild, else whether somebody is at it.
pub(crate) async fn ask_to_stop<'c>(
    db: impl Executor<'c, Database = Postgres>,
    name: &str,
) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar(
        "update dagapp.rebuilds set cancelled = true where name = $1
         returning owner is not null and expires_at >= clock_timestamp()",
    )
    .bind(name)
    .fetch_optional(db)
    .await
}

/// Forgets a rebuild that nobody is at but whoever holds it; `false` if somebody else is.
pub(crate) async fn forget(
    tx: &mut PgConnection,
    name: &str,
    hold: Option<Hold>,
) -> sqlx::Result<bool> {
    let found: Option<i32> = sqlx::query_scalar(
        "select 1 from dagapp.rebuilds
         where name = $1 and (owner is null or expires_at < clock_timestamp() or (owner = $2 and epoch = $3))
         for update",
    )
    .bind(name)
    .bind(hold.map(|hold| hold.owner))
    .bind(hold.map(|hold| hold.epoch))
    .fetch_optional(&mut *tx)
    .await?;
    if found.is_none() {
        return Ok(false);
    }
    sqlx::query("select dagapp.next_drop()")
        .execute(&mut *tx)
        .await?;
    sqlx::query("delete from dagapp.rebuilds where name = $1")
        .bind(name)
        .execute(tx)
        .await?;
    Ok(true)
}

/// Keeps streams for later.
pub(crate) async fn set_aside(tx: &mut PgConnection, streams: &[&str]) -> sqlx::Result<()> {
    if streams.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "insert into dagapp.rebuild_rest select * from unnest($1::text[]) on conflict do nothing",
    )
    .bind(streams)
    .execute(tx)
    .await?;
    Ok(())
}

/// One of the streams that were set aside, and how many there are.
pub(crate) async fn rest<'c>(
    db: impl Executor<'c, Database = Postgres>,
) -> sqlx::Result<Option<(String, i64)>> {
    sqlx::query_as(
        "select stream_id, (select count(*) from dagapp.rebuild_rest) from dagapp.rebuild_rest
         order by stream_id limit 1",
    )
    .fetch_optional(db)
    .await
}

/// A stream that was set aside is done.
pub(crate) async fn rest_done(tx: &mut PgConnection, stream: &str) -> sqlx::Result<()> {
    sqlx::query("delete from dagapp.rebuild_rest where stream_id = $1")
        .bind(stream)
        .execute(tx)
        .await?;
    Ok(())
}
