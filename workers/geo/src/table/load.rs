//! The beginning and the middle of a load: a staging table, and chunks into it.

use domain::failure::{Failure, FailureClass};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::binary::CopyIn;
use super::{Shape, Target, marker, staging_prefix};
use crate::names::{SCHEMA, TableName, quoted};
use crate::sql::{end, failed, failure, state};
use crate::vector::Row;

/// What was there when a load began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a load that is `Loaded` has no place for chunks"]
pub enum Prepared {
    /// Nothing of this load: send all chunks.
    Fresh,
    /// An earlier attempt had staged something: the chunks that its checkpoints know need not be sent.
    Resumed,
    /// An earlier attempt had finished: only ask [`super::finish`] what it loaded.
    Loaded,
}

/// Makes room for a load. Refuses a table that has other columns or was not made by Strata
/// (`table_differs`), before anything is read from the source.
pub async fn prepare(conn: &mut PgConnection, target: &Target) -> Result<Prepared, Failure> {
    target.check()?;
    let begun = conn.begin().await;
    let mut tx = begun.map_err(failed("cannot begin the load"))?;
    let prepared = stage(&mut tx, target).await;
    end(tx, prepared, "cannot begin the load").await
}

/// Stages features, replacing those that were staged under the same numbers. All or nothing.
pub async fn copy_chunk(
    conn: &mut PgConnection,
    target: &Target,
    rows: &[Row],
) -> Result<u64, Failure> {
    if rows.is_empty() {
        return Ok(0);
    }
    let begun = conn.begin().await;
    let mut tx = begun.map_err(failed("cannot begin the chunk"))?;
    let copied = replace_rows(&mut tx, target, rows).await;
    end(tx, copied, "cannot keep the chunk").await
}

/// Forgets what a load has staged: for one that was cancelled or has failed for good. The table itself
/// stays as it was.
pub async fn discard(conn: &mut PgConnection, target: &Target) -> Result<(), Failure> {
    let staging = target.staging(&target.name()?)?;
    let drop = format!("drop table if exists {staging}");
    let dropped = sqlx::query(AssertSqlSafe(drop)).execute(conn).await;
    dropped.map_err(failed("cannot remove what was staged"))?;
    Ok(())
}

async fn stage(conn: &mut PgConnection, target: &Target) -> Result<Prepared, Failure> {
    let table = target.name()?;
    let staging = target.staging(&table)?;
    marker::lock(conn, &table).await?;
    let shape = target.shape();
    if let Some(found) = marker::find(conn, &table).await? {
        match found.marker::<Shape>() {
            None => return Err(marker::differs(&table, "was not made by a load of Strata")),
            Some(other) if other.hash != shape.hash => {
                return Err(marker::differs(&table, "has other columns"));
            }
            Some(other) if other.load == shape.load => return Ok(Prepared::Loaded),
            Some(_) => {}
        }
    }
    let staged = marker::find(conn, &staging).await?;
    let ours = staged.and_then(|found| found.marker::<Shape>());
    let resumes = ours.is_some_and(|staged| staged.hash == shape.hash);
    let kept = resumes.then_some(staging.bare());
    drop_staging(conn, &table, kept).await?;
    if !resumes {
        let make = format!(
            "create table {staging} ({}); {}",
            target.definition(),
            marker::comment(&staging, shape)?
        );
        let made = sqlx::raw_sql(AssertSqlSafe(make)).execute(conn).await;
        made.map_err(failed("cannot make the table of the load"))?;
    }
    Ok(if resumes {
        Prepared::Resumed
    } else {
        Prepared::Fresh
    })
}

async fn replace_rows(
    conn: &mut PgConnection,
    target: &Target,
    rows: &[Row],
) -> Result<u64, Failure> {
    let table = target.name()?;
    let staging = target.staging(&table)?;
    let mut fids: Vec<i64> = rows.iter().map(|row| row.fid).collect();
    fids.sort_unstable();
    if let Some(twice) = fids.windows(2).find(|pair| pair.first() == pair.last()) {
        let message = format!("a chunk has two features with one number: {twice:?}");
        return Err(Failure::new(
            FailureClass::Contract,
            "feature_twice",
            &message,
        ));
    }
    // The outer condition is asked once: a chunk that is new, as almost all are, costs one look at the
    // index and not one for each feature.
    let delete = format!(
        "delete from {staging} where fid = any($1) \
         and (select exists (select from {staging} where fid between $2 and $3))"
    );
    let deleted = sqlx::query(AssertSqlSafe(delete))
        .bind(&fids)
        .bind(fids.first())
        .bind(fids.last())
        .execute(&mut *conn)
        .await;
    deleted.map_err(|error| chunk_failure(&table, &error))?;
    let into = format!("{staging} ({})", target.column_list());
    let mut copy = CopyIn::begin(conn, &into).await?;
    for row in rows {
        if let Err(failure) = copy.buffer.feature(&target.columns, row) {
            return Err(copy.abort(failure).await);
        }
        copy.flush().await?;
    }
    let copied = copy.finish().await;
    copied.map_err(|error| chunk_failure(&table, &error))
}

/// Removes what loads of this table have staged, except `kept`; what abandoned loads left behind too.
pub(super) async fn drop_staging(
    conn: &mut PgConnection,
    table: &TableName,
    kept: Option<&str>,
) -> Result<(), Failure> {
    let names: Vec<String> = sqlx::query_scalar(
        "select tablename::text from pg_catalog.pg_tables \
         where schemaname = $1 and starts_with(tablename, $2) \
         and tablename is distinct from $3",
    )
    .bind(SCHEMA)
    .bind(staging_prefix(table))
    .bind(kept)
    .fetch_all(&mut *conn)
    .await
    .map_err(failed("cannot look for older loads"))?;
    if names.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("{}.{}", quoted(SCHEMA), quoted(name)))
        .collect();
    let drop = format!("drop table if exists {}", names.join(", "));
    let dropped = sqlx::query(AssertSqlSafe(drop)).execute(conn).await;
    dropped.map_err(failed("cannot remove what older loads staged"))?;
    Ok(())
}

pub(super) fn superseded(table: &TableName) -> Failure {
    let message = format!("another load of {table} began after this one: this one ends here");
    Failure::new(FailureClass::Permanent, "load_superseded", &message)
}

fn chunk_failure(table: &TableName, error: &sqlx::Error) -> Failure {
    match state(error).as_deref() {
        Some("42P01") => superseded(table),
        // A twin of this attempt, thought dead, sent the same features at the same moment.
        Some("23505") => {
            let message = format!("two attempts loaded the same features into {table}: {error}");
            Failure::new(FailureClass::Transient, "database_conflict", &message)
        }
        _ => failure("cannot store the features", error),
    }
}
