//! The parts of `dagapp.events`: which there are, and how they come and go.
//!
//! Names of tables cannot be parameters: they come from the catalog of the database, and are taken only if they look as
//! `dagapp.make_partitions` makes them.

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, FromRow, PgConnection, PgPool};

use super::audit::EventRow;
use super::copy::Rows;

/// A partition that is attached.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Part {
    pub name: String,
    pub first_pos: i64,
    pub last_pos: i64,
    /// A detach was begun and not finished.
    pub pending: bool,
}

/// Partitions that are attached, in order.
pub(crate) async fn attached(pool: &PgPool) -> sqlx::Result<Vec<Part>> {
    sqlx::query_as(
        r"select c.relname::text as name, (b.m)[1]::bigint as first_pos, (b.m)[2]::bigint - 1 as last_pos,
                 i.inhdetachpending as pending
          from pg_inherits i
          join pg_class c on c.oid = i.inhrelid
          cross join lateral (select regexp_match(pg_get_expr(c.relpartbound, c.oid),
                                                  'FROM \(''(\d+)''\) TO \(''(\d+)''\)') as m) b
          where i.inhparent = 'dagapp.events'::regclass order by 2",
    )
    .fetch_all(pool)
    .await
}

/// The schema that a table is in, of the two where it may be.
pub(crate) async fn schema_of(pool: &PgPool, name: &str) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "select n.nspname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relname = $1 and n.nspname in ('dagapp', 'dagapp_archived') and c.relkind = 'r'",
    )
    .bind(name)
    .fetch_optional(pool)
    .await
}

/// Whether this role owns the log, and may take it apart.
pub(crate) async fn is_owner(db: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select pg_has_role(current_user, c.relowner, 'usage') from pg_class c where c.oid = 'dagapp.events'::regclass",
    )
    .fetch_one(db)
    .await
}

/// Takes the lock that only one process has who archives or restores; it ends with the connection.
pub(crate) async fn lock(db: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar("select pg_try_advisory_lock(hashtext('strata archive'))")
        .fetch_one(db)
        .await
}

/// Detaches a partition while others read and write; `pending` if that was begun before.
pub(crate) async fn detach(db: &mut PgConnection, part: &Part) -> sqlx::Result<()> {
    let how = match part.pending {
        true => "finalize",
        false => "concurrently",
    };
    run(db, "set lock_timeout = '10s'".to_owned()).await?;
    let name = named(&part.name)?;
    run(
        db,
        format!("alter table dagapp.events detach partition dagapp.{name} {how}"),
    )
    .await
}

/// Puts a detached table aside.
pub(crate) async fn put_aside(db: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    let name = named(name)?;
    run(
        db,
        format!("alter table dagapp.{name} set schema dagapp_archived"),
    )
    .await
}

/// Removes a table that was put aside.
pub(crate) async fn remove(db: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    let name = named(name)?;
    run(db, format!("drop table if exists dagapp_archived.{name}")).await
}

/// Makes a table to be filled.
pub(crate) async fn make(db: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    let name = named(name)?;
    let like =
        format!("create table dagapp_archived.{name} (like dagapp.events including defaults)");
    run(db, like).await
}

/// What every partition has, once it is full.
pub(crate) async fn finish(db: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    let name = named(name)?;
    run(
        db,
        format!("alter table dagapp_archived.{name} add primary key (pos)"),
    )
    .await?;
    run(
        db,
        format!("create unique index {name}_stream on dagapp_archived.{name} (stream_id, version)"),
    )
    .await?;
    run(
        db,
        format!("alter table dagapp_archived.{name} set (autovacuum_freeze_min_age = 0)"),
    )
    .await?;
    run(db, format!("analyze dagapp_archived.{name}")).await
}

/// Makes a table a part of the log again.
pub(crate) async fn attach(
    tx: &mut PgConnection,
    name: &str,
    (first, last): (i64, i64),
) -> sqlx::Result<()> {
    let name = named(name)?;
    run(tx, "set local lock_timeout = '10s'".to_owned()).await?;
    run(
        tx,
        format!("alter table dagapp_archived.{name} set schema dagapp"),
    )
    .await?;
    let until = last + 1;
    run(
        tx,
        format!("alter table dagapp.events attach partition dagapp.{name} for values from ({first}) to ({until})"),
    )
    .await
}

/// The rows of a table that was put aside, in order.
pub(crate) fn rows<'c>(
    db: &'c mut PgConnection,
    name: &str,
) -> sqlx::Result<BoxStream<'c, sqlx::Result<PgRow>>> {
    let name = named(name)?;
    let select = format!(
        "select pos, stream_id, version, type, schema_ver, org_id, payload, meta, recorded_at, leaf
         from dagapp_archived.{name} order by pos"
    );
    Ok(sqlx::query(AssertSqlSafe(select)).fetch(db).boxed())
}

/// Events that wait to be copied into a table.
#[derive(Debug, Default)]
pub(crate) struct Events(Rows);

impl Events {
    pub(crate) fn push(&mut self, event: &EventRow<'_>) {
        self.0
            .row(10)
            .bigint(event.pos)
            .text(event.stream_id)
            .bigint(event.version)
            .text(event.kind)
            .smallint(event.schema_ver)
            .text(event.org_id)
            .bytes(event.payload)
            .bytes(event.meta)
            .time(event.recorded_at)
            .bytes(event.leaf);
    }

    /// Copies them.
    pub(crate) async fn write(&mut self, db: &mut PgConnection, name: &str) -> sqlx::Result<()> {
        let name = named(name)?;
        let copy = format!(
            "copy dagapp_archived.{name} (pos, stream_id, version, type, schema_ver, org_id, payload, meta, recorded_at,
                                         leaf) from stdin (format binary)"
        );
        self.0.write(db, &copy).await
    }
}

async fn run(db: &mut PgConnection, statement: String) -> sqlx::Result<()> {
    // Names are checked; everything else is ours.
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(db).await?;
    Ok(())
}

fn named(name: &str) -> sqlx::Result<&str> {
    let digits = name.strip_prefix("events_").unwrap_or_default();
    match !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Ok(name),
        false => Err(sqlx::Error::Protocol(format!(
            "`{name}` is no partition of the log"
        ))),
    }
}
