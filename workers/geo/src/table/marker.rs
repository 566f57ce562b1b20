//! What Strata writes into the comment of a table: that it made it, and of what shape.
//!
//! A table without such a comment belongs to somebody else and is never touched.

use domain::failure::{Failure, FailureClass};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::names::{TableName, literal};
use crate::sql::failed;

/// The comment, as JSON below one key, so that a person who reads it knows whose it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Marker<T> {
    pub(crate) strata: T,
}

/// A table that exists.
pub(crate) struct Found {
    pub(crate) comment: Option<String>,
}

impl Found {
    /// The marker of `T`, if the comment holds one.
    pub(crate) fn marker<T: for<'de> Deserialize<'de>>(&self) -> Option<T> {
        let comment = self.comment.as_deref()?;
        let marker: Marker<T> = serde_json::from_str(comment).ok()?;
        Some(marker.strata)
    }
}

/// Looks for a table, view or anything else of this name.
pub(crate) async fn find(
    conn: &mut PgConnection,
    table: &TableName,
) -> Result<Option<Found>, Failure> {
    let comment: Option<Option<String>> = sqlx::query_scalar(
        "select pg_catalog.obj_description(oid, 'pg_class') from pg_catalog.pg_class \
         where oid = pg_catalog.to_regclass($1)",
    )
    .bind(table.to_string())
    .fetch_optional(conn)
    .await
    .map_err(failed("cannot look at the table"))?;
    Ok(comment.map(|comment| Found { comment }))
}

/// The statement that writes a marker.
pub(crate) fn comment<T: Serialize>(table: &TableName, marker: T) -> Result<String, Failure> {
    let text = serde_json::to_string(&Marker { strata: marker }).map_err(|error| {
        Failure::new(FailureClass::Permanent, "table_marker", &error.to_string())
    })?;
    Ok(format!("comment on table {table} is {}", literal(&text)))
}

/// Serialises whoever makes, swaps or fills this table, until the transaction ends.
pub(crate) async fn lock(conn: &mut PgConnection, table: &TableName) -> Result<(), Failure> {
    sqlx::query("select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))")
        .bind(format!("strata:table:{table}"))
        .execute(conn)
        .await
        .map_err(failed("cannot lock the table"))?;
    Ok(())
}

pub(crate) fn differs(table: &TableName, how: &str) -> Failure {
    let message = format!("the table {table} {how}: choose another name, or remove it");
    Failure::new(FailureClass::Permanent, "table_differs", &message)
}
