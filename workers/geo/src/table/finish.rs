//! The end of a load: what was staged becomes the table.

use domain::failure::{Failure, FailureClass};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::load::{drop_staging, superseded};
use super::{Shape, Target, marker};
use crate::names::{SCHEMA, TableName, quoted};
use crate::sql::{end, failed, failure};

/// What a table holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    pub rows: u64,
    /// [west, south, east, north] in EPSG:4326; nothing if no row has a geometry.
    pub bounds: Option<[f64; 4]>,
    /// As PostGIS has it, such as `MULTIPOLYGON`.
    pub geometry_type: String,
}

/// Builds the spatial index, gathers statistics and puts the staged rows in the table's place, all in one
/// transaction. A second call only says what is there.
///
/// The staged table itself takes the name when nothing hangs on the old one. Where views read it or
/// somebody was granted rights on it, these must survive: then its rows are replaced instead.
pub async fn finish(conn: &mut PgConnection, target: &Target) -> Result<Loaded, Failure> {
    target.check()?;
    let begun = conn.begin().await;
    let mut tx = begun.map_err(failed("cannot begin to finish the load"))?;
    let loaded = put_in_place(&mut tx, target).await;
    end(tx, loaded, "cannot finish the load").await
}

/// Counts the rows of a table and measures their extent. Works for any table of the schema with a
/// geometry `geom`.
pub async fn describe(
    conn: &mut PgConnection,
    schema: &str,
    table: &str,
) -> Result<Loaded, Failure> {
    let table = TableName::new(schema, table)?;
    let column: Option<(String, i32)> = sqlx::query_as(
        "select type::text, srid from public.geometry_columns \
         where f_table_schema = $1 and f_table_name = $2 and f_geometry_column = 'geom'",
    )
    .bind(SCHEMA)
    .bind(table.bare())
    .fetch_optional(&mut *conn)
    .await
    .map_err(failed("cannot look for the geometry of the table"))?;
    let Some((geometry_type, srid)) = column else {
        let message = format!("there is no table {table} with a geometry `geom`");
        return Err(Failure::new(
            FailureClass::Permanent,
            "table_missing",
            &message,
        ));
    };
    // One pass over the rows, and the box in degrees is made of their box.
    let select = format!(
        "with measured as (select count(*) as rows, public.ST_Extent(geom) as box from {table}) \
         select rows, public.ST_XMin(box), public.ST_YMin(box), public.ST_XMax(box), \
           public.ST_YMax(box) from measured"
    );
    let (rows, bounds): (i64, Bounds) = sqlx::query_as(AssertSqlSafe(select))
        .fetch_one(&mut *conn)
        .await
        .map(|(rows, w, s, e, n): Measured| (rows, whole([w, s, e, n])))
        .map_err(failed("cannot measure the table"))?;
    let bounds = match bounds {
        Some(bounds) if srid != 4326 => in_degrees(conn, bounds, srid).await?,
        same => same,
    };
    Ok(Loaded {
        rows: u64::try_from(rows).unwrap_or_default(),
        bounds,
        geometry_type,
    })
}

type Bounds = Option<[f64; 4]>;
type Measured = (i64, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

/// A box in another CRS, with points along its edges, because the corners alone are not its extremes
/// there. What PROJ cannot place has no bounds; that is no reason to lose a load.
async fn in_degrees(
    conn: &mut PgConnection,
    [west, south, east, north]: [f64; 4],
    srid: i32,
) -> Result<Bounds, Failure> {
    if srid == 0 {
        return Ok(None);
    }
    let step = (east - west).max(north - south).max(1e-9) / 20.0;
    let mut part = conn
        .begin()
        .await
        .map_err(failed("cannot measure the table"))?;
    let moved: Result<Measured, _> = sqlx::query_as(
        "with moved as (select public.ST_Transform(public.ST_Segmentize( \
           public.ST_MakeEnvelope($1, $2, $3, $4, $5), $6), 4326) as box) \
         select 0::bigint, public.ST_XMin(box), public.ST_YMin(box), public.ST_XMax(box), \
           public.ST_YMax(box) from moved",
    )
    .bind(west)
    .bind(south)
    .bind(east)
    .bind(north)
    .bind(srid)
    .bind(step)
    .fetch_one(&mut *part)
    .await;
    match moved {
        Ok((_, w, s, e, n)) => {
            let done = part.commit().await;
            done.map_err(failed("cannot measure the table"))?;
            Ok(whole([w, s, e, n]))
        }
        Err(error @ sqlx::Error::Database(_)) => {
            tracing::warn!(srid, %error, "bounds of a table cannot be turned into degrees");
            let undone = part.rollback().await;
            undone.map_err(failed("cannot measure the table"))?;
            Ok(None)
        }
        Err(error) => Err(failure("cannot measure the table", &error)),
    }
}

/// All four numbers, or none.
fn whole(bounds: [Option<f64>; 4]) -> Bounds {
    let [Some(w), Some(s), Some(e), Some(n)] = bounds else {
        return None;
    };
    let bounds = [w, s, e, n];
    bounds
        .iter()
        .all(|number| number.is_finite())
        .then_some(bounds)
}

async fn put_in_place(conn: &mut PgConnection, target: &Target) -> Result<Loaded, Failure> {
    let table = target.name()?;
    let staging = target.staging(&table)?;
    marker::lock(conn, &table).await?;
    let found = marker::find(conn, &table).await?;
    let shape = found.as_ref().map(marker::Found::marker::<Shape>);
    if marker::find(conn, &staging).await?.is_none() {
        return match shape {
            Some(Some(shape)) if shape.load == target.load_id => {
                describe(conn, &target.schema, &target.table).await
            }
            _ => Err(superseded(&table)),
        };
    }
    match shape {
        None => replace(conn, &staging, &table, false).await?,
        Some(Some(shape)) if shape.hash == target.shape().hash => {
            if is_tied(conn, &table).await? {
                refill(conn, target, &staging, &table).await?;
            } else {
                replace(conn, &staging, &table, true).await?;
            }
        }
        Some(_) => return Err(marker::differs(&table, "has changed during the load")),
    }
    drop_staging(conn, &table, None).await?;
    describe(conn, &target.schema, &target.table).await
}

/// Whether somebody would miss the table itself: views that read it, keys that point at it, rights.
async fn is_tied(conn: &mut PgConnection, table: &TableName) -> Result<bool, Failure> {
    sqlx::query_scalar(
        "select c.relacl is not null \
           or exists (select from pg_catalog.pg_depend d where d.refobjid = c.oid \
                and d.classid = 'pg_catalog.pg_rewrite'::regclass) \
           or exists (select from pg_catalog.pg_constraint k where k.confrelid = c.oid) \
           or exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid) \
         from pg_catalog.pg_class c where c.oid = pg_catalog.to_regclass($1)",
    )
    .bind(table.to_string())
    .fetch_one(conn)
    .await
    .map_err(failed("cannot look at the table"))
}

/// Index first, then the names: the table that readers see is never without its index.
async fn replace(
    conn: &mut PgConnection,
    staging: &TableName,
    table: &TableName,
    exists: bool,
) -> Result<(), Failure> {
    let drop = if exists {
        format!("drop table {table};")
    } else {
        String::new()
    };
    let rename = |from: &TableName, to: &TableName| {
        let schema = quoted(SCHEMA);
        let (from, to) = (quoted(from.bare()), quoted(to.bare()));
        format!("alter index {schema}.{from} rename to {to};")
    };
    let suffixes = ["_pkey", "_geom_idx"];
    let indices = suffixes.map(|suffix| rename(&staging.derived(suffix), &table.derived(suffix)));
    let sql = format!(
        "create index {} on {staging} using gist (geom); analyze {staging}; {drop} \
         alter table {staging} rename to {}; {}",
        quoted(staging.derived("_geom_idx").bare()),
        quoted(table.bare()),
        indices.concat(),
    );
    let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(conn).await;
    done.map_err(failed("cannot put the loaded table in place"))?;
    Ok(())
}

/// Slower, and it leaves dead rows behind; but whoever reads sees the old rows until the commit.
async fn refill(
    conn: &mut PgConnection,
    target: &Target,
    staging: &TableName,
    table: &TableName,
) -> Result<(), Failure> {
    let columns = target.column_list();
    let sql = format!(
        "delete from {table}; insert into {table} ({columns}) select {columns} from {staging}; \
         create index if not exists {} on {table} using gist (geom); analyze {table}; {}",
        quoted(table.derived("_geom_idx").bare()),
        marker::comment(table, target.shape())?,
    );
    let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(conn).await;
    done.map_err(failed("cannot replace the rows of the table"))?;
    Ok(())
}
