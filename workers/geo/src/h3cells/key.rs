//! The key of a table of cells, made after the rows where that is faster.
//!
//! An index that is built once over rows in order costs a quarter of what it costs to grow with each of
//! them, so a table that is about to be mostly new rows does without it until they are in.

use domain::failure::Failure;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::names::{TableName, quoted};
use crate::sql::failed;

/// Bytes that a row takes in the table.
const ROW_BYTES: u64 = 52;
/// Without its key a table can be read by nobody until the rows are in: some seconds for so many.
const ROWS_MAX: u64 = 5_000_000;

/// What is to be done about the key when the rows are in.
pub(super) enum Key {
    /// It never went away.
    Kept,
    /// The table is new.
    Missing,
    /// It had this name.
    Aside(String),
}

impl Key {
    /// Takes the key away if that is worth it, nothing hangs on it, and the table is free within a second.
    pub(super) async fn set_aside(
        conn: &mut PgConnection,
        table: &TableName,
        rows: u64,
    ) -> Result<Self, Failure> {
        if rows > ROWS_MAX {
            return Ok(Self::Kept);
        }
        let name: Option<String> = sqlx::query_scalar(
            "select conname::text from pg_catalog.pg_constraint \
             join pg_catalog.pg_index on indexrelid = conindid \
             where conrelid = pg_catalog.to_regclass($1) and contype = 'p' \
             and not indisclustered and not indisreplident \
             and pg_catalog.pg_relation_size(conrelid) < $2",
        )
        .bind(table.to_string())
        .bind(i64::try_from(rows.saturating_mul(ROW_BYTES)).unwrap_or(i64::MAX))
        .fetch_optional(&mut *conn)
        .await
        .map_err(failed("cannot look at the key of the table"))?;
        let Some(name) = name else {
            return Ok(Self::Kept);
        };
        let drop = format!(
            "savepoint with_key; set local lock_timeout = '1s'; \
             alter table {table} drop constraint {}",
            quoted(&name)
        );
        if run(conn, drop).await.is_ok() {
            return Ok(Self::Aside(name));
        }
        // Somebody reads the table, or refers to it: then the key grows with the rows.
        let back = run(conn, "rollback to savepoint with_key".to_owned()).await;
        back.map_err(failed("cannot keep the key of the table"))?;
        Ok(Self::Kept)
    }

    pub(super) async fn make(
        self,
        conn: &mut PgConnection,
        table: &TableName,
    ) -> Result<(), Failure> {
        let name = match self {
            Self::Kept => return Ok(()),
            Self::Missing => String::new(),
            Self::Aside(name) => format!("constraint {} ", quoted(&name)),
        };
        let add = format!(
            "set local maintenance_work_mem = '256MB'; \
             alter table {table} add {name}primary key (h3)"
        );
        let made = run(conn, add).await;
        made.map_err(failed("cannot index the cells"))
    }
}

async fn run(conn: &mut PgConnection, statements: String) -> Result<(), sqlx::Error> {
    let done = sqlx::raw_sql(AssertSqlSafe(statements)).execute(conn).await;
    done.map(|_| ())
}
