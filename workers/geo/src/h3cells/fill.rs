//! Tables of cells: `h3`, `resolution`, `parent`.
//!
//! No geometry: the outline of a cell follows from its number, and stored it would make the table some
//! seven times as large and the COPY slower than the bar allows.

use domain::failure::{Failure, FailureClass};
use h3o::{CellIndex, Resolution};
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, PgConnection, PgPool};

use super::key::Key;
use super::{index, of_number};
use crate::names::TableName;
use crate::sql::{end, failed};
use crate::table::binary::CopyIn;
use crate::table::marker;

/// What a run did to the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filled {
    /// Cells that it was about.
    pub cell_count: u64,
    /// Those of them that were not there before.
    pub inserted: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Cells {
    cells: String,
}

impl Cells {
    fn ours() -> Self {
        Self {
            cells: "h3".to_owned(),
        }
    }
}

/// Cells of one resolution that a table is to have.
pub struct Level<I> {
    pub resolution: u8,
    /// How many they are, about.
    pub count: u64,
    pub cells: I,
}

/// Adds cells to a table, which is made if it is missing. All or nothing, and a second run adds nothing.
///
/// Resolutions lie apart in the order of cell numbers. So where the table has none of a resolution yet, no
/// number can be there twice, and the rows go straight in, with those of the other such resolutions in one
/// COPY; the rest pass through a temporary table. Ascending cells are fastest.
pub async fn fill<I: Iterator<Item = u64> + Send>(
    pool: &PgPool,
    schema: &str,
    table: &str,
    levels: Vec<Level<I>>,
) -> Result<Filled, Failure> {
    let table = TableName::new(schema, table)?;
    let levels = levels.into_iter().map(Checked::new);
    let levels = levels.collect::<Result<Vec<_>, _>>()?;
    let begun = pool.begin().await;
    let mut tx = begun.map_err(failed("cannot begin to fill the table"))?;
    let filled = add(&mut tx, &table, levels).await;
    end(tx, filled, "cannot keep the cells").await
}

/// The cells of one resolution in a table, ascending; more than `cells_max` are refused.
pub async fn cells_of(
    pool: &PgPool,
    schema: &str,
    table: &str,
    resolution: u8,
    cells_max: u64,
) -> Result<Vec<u64>, Failure> {
    let table = TableName::new(schema, table)?;
    let (first, last) = range(of_number(resolution)?);
    let limit = i64::try_from(cells_max)
        .unwrap_or(i64::MAX)
        .saturating_add(1);
    let select = format!("select h3 from {table} where h3 between $1 and $2 order by h3 limit $3");
    let cells: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(select))
        .bind(first)
        .bind(last)
        .bind(limit)
        .fetch_all(pool)
        .await
        .map_err(failed("cannot read the cells"))?;
    let cells: Vec<u64> = cells
        .into_iter()
        .filter_map(|cell| cell.try_into().ok())
        .collect();
    let count = u64::try_from(cells.len()).unwrap_or(u64::MAX);
    if count > cells_max {
        return Err(super::too_many(count, cells_max));
    }
    Ok(cells)
}

/// A level whose resolution exists.
struct Checked<I> {
    resolution: Resolution,
    count: u64,
    cells: I,
}

impl<I> Checked<I> {
    fn new(level: Level<I>) -> Result<Self, Failure> {
        Ok(Self {
            resolution: of_number(level.resolution)?,
            count: level.count,
            cells: level.cells,
        })
    }
}

async fn add<I: Iterator<Item = u64> + Send>(
    conn: &mut PgConnection,
    table: &TableName,
    levels: Vec<Checked<I>>,
) -> Result<Filled, Failure> {
    let fresh = prepare(conn, table).await?;
    let (empty, started) = if fresh {
        (levels, Vec::new())
    } else {
        split(conn, table, levels).await?
    };
    let count = empty.iter().map(|level| level.count).sum();
    let key = if fresh {
        Key::Missing
    } else {
        Key::set_aside(conn, table, count).await?
    };
    let mut filled = Filled::default();
    if !empty.is_empty() {
        filled.cell_count = copy(conn, &table.to_string(), empty).await?;
        filled.inserted = filled.cell_count;
    }
    key.make(conn, table).await?;
    for level in started {
        let merged = merge(conn, table, level).await?;
        filled.cell_count += merged.cell_count;
        filled.inserted += merged.inserted;
    }
    Ok(filled)
}

/// Whether the table is new, and so still without its key.
async fn prepare(conn: &mut PgConnection, table: &TableName) -> Result<bool, Failure> {
    marker::lock(conn, table).await?;
    let found = marker::find(conn, table).await?;
    let fresh = found.is_none();
    let sql = match found {
        Some(found) if found.marker() == Some(Cells::ours()) => {
            // Against whoever writes without asking: what was empty must stay empty until the commit.
            format!("lock table {table} in share row exclusive mode")
        }
        Some(_) => {
            return Err(marker::differs(
                table,
                "is no table of H3 cells made by Strata",
            ));
        }
        None => format!(
            "create table {table} (h3 bigint not null, resolution smallint not null, \
             parent bigint); {}",
            marker::comment(table, Cells::ours())?
        ),
    };
    let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(conn).await;
    done.map_err(failed("cannot make the table of cells"))?;
    Ok(fresh)
}

/// The levels of which the table has no cell yet, and the others.
async fn split<I>(
    conn: &mut PgConnection,
    table: &TableName,
    levels: Vec<Checked<I>>,
) -> Result<(Vec<Checked<I>>, Vec<Checked<I>>), Failure> {
    let ranges = levels.iter().map(|level| range(level.resolution));
    let (firsts, lasts): (Vec<i64>, Vec<i64>) = ranges.unzip();
    let select = format!(
        "select exists (select from {table} where h3 between first and last) \
         from unnest($1::bigint[], $2::bigint[]) with ordinality as level (first, last, nr) order by nr"
    );
    let started: Vec<bool> = sqlx::query_scalar(AssertSqlSafe(select))
        .bind(firsts)
        .bind(lasts)
        .fetch_all(conn)
        .await
        .map_err(failed("cannot look into the table of cells"))?;
    let (started, empty): (Vec<_>, Vec<_>) = levels
        .into_iter()
        .zip(started)
        .partition(|(_, started)| *started);
    let levels = |both: Vec<(Checked<I>, bool)>| both.into_iter().map(|(level, _)| level).collect();
    Ok((levels(empty), levels(started)))
}

async fn merge<I: Iterator<Item = u64> + Send>(
    conn: &mut PgConnection,
    table: &TableName,
    level: Checked<I>,
) -> Result<Filled, Failure> {
    let make = "create temporary table strata_h3 (h3 bigint, resolution smallint, parent bigint)";
    let made = sqlx::query(make).execute(&mut *conn).await;
    made.map_err(failed("cannot make room for the cells"))?;
    let cell_count = copy(conn, "pg_temp.strata_h3", vec![level]).await?;
    let insert = format!(
        "insert into {table} (h3, resolution, parent) \
         select h3, resolution, parent from pg_temp.strata_h3 on conflict (h3) do nothing"
    );
    let inserted = sqlx::query(AssertSqlSafe(insert)).execute(&mut *conn).await;
    let inserted = inserted.map_err(failed("cannot add the cells"))?;
    let dropped = sqlx::query("drop table pg_temp.strata_h3").execute(conn);
    dropped.await.map_err(failed("cannot add the cells"))?;
    Ok(Filled {
        cell_count,
        inserted: inserted.rows_affected(),
    })
}

async fn copy<I: Iterator<Item = u64> + Send>(
    conn: &mut PgConnection,
    into: &str,
    levels: Vec<Checked<I>>,
) -> Result<u64, Failure> {
    let into = format!("{into} (h3, resolution, parent)");
    let mut copy = CopyIn::begin(conn, &into).await?;
    for Checked {
        resolution, cells, ..
    } in levels
    {
        let level = u8::from(resolution);
        let above = level.checked_sub(1).and_then(|above| of_number(above).ok());
        for cell in cells {
            let parent = match checked(cell, resolution) {
                Ok(cell) => above.and_then(|above| cell.parent(above)),
                Err(failure) => return Err(copy.abort(failure).await),
            };
            copy.buffer.row(3);
            copy.buffer.i64(cell.cast_signed());
            copy.buffer.i16(i16::from(level));
            match parent {
                Some(parent) => copy.buffer.i64(u64::from(parent).cast_signed()),
                None => copy.buffer.null(),
            }
            copy.flush().await?;
        }
    }
    copy.finish().await.map_err(failed("cannot copy the cells"))
}

/// Numbers of cells have their highest bit off, so as signed numbers they keep value and order.
fn checked(cell: u64, resolution: Resolution) -> Result<CellIndex, Failure> {
    let cell = index(cell)?;
    if cell.resolution() == resolution {
        return Ok(cell);
    }
    let message = format!("{cell} is no cell of resolution {resolution}");
    Err(Failure::new(
        FailureClass::Contract,
        "h3_resolution",
        &message,
    ))
}

/// The first and the last number that a cell of a resolution could have: the resolution stands above
/// everything that tells its cells apart.
fn range(resolution: Resolution) -> (i64, i64) {
    let first = (1_i64 << 59) | (i64::from(u8::from(resolution)) << 52);
    (first, first | ((1 << 52) - 1))
}

#[cfg(test)]
mod tests {
    use h3o::{CellIndex, Resolution};

    use super::range;

    #[test]
    fn cells_of_a_resolution_lie_between_their_ends() {
        for resolution in Resolution::range(Resolution::Zero, Resolution::Fifteen) {
            let (first, last) = range(resolution);
            for cell in CellIndex::base_cells().filter_map(|base| base.children(resolution).next())
            {
                assert!((first..=last).contains(&u64::from(cell).cast_signed()));
            }
        }
    }
}
