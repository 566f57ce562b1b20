//! Whose rows a table holds: what its comment says of the load that they came with.

use domain::failure::Failure;
use sqlx::PgConnection;

use super::{Shape, marker};
use crate::names::TableName;

/// What a table holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// There is no such table.
    Nothing,
    /// A table that no load of ours made.
    Foreign,
    /// The rows of this load; its id begins with the job and a slash.
    Load(String),
}

/// Looks whose rows a table holds. The rows themselves are not read.
pub async fn held(conn: &mut PgConnection, schema: &str, table: &str) -> Result<Held, Failure> {
    let table = TableName::new(schema, table)?;
    let Some(found) = marker::find(conn, &table).await? else {
        return Ok(Held::Nothing);
    };
    let shape: Option<Shape> = found.marker();
    Ok(shape.map_or(Held::Foreign, |shape| Held::Load(shape.load)))
}
