//! The tables beside those of the handlers: a repository module of SQL.

use std::time::Duration;

use domain::id::JobId;
use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, PgPool};

use crate::bench::meter::now;

/// Sent at once.
const PIECE: usize = 1024 * 1024;

/// The schema of the other side.
pub(super) async fn make_schema(pool: &PgPool) -> anyhow::Result<()> {
    let make = sqlx::query("create schema if not exists bench");
    make.execute(pool).await?;
    Ok(())
}

/// Rows of ours and of theirs.
pub(super) async fn both_counts(pool: &PgPool, table: &str) -> anyhow::Result<(i64, i64)> {
    let count = format!(
        "select (select count(*) from geo.{table} where ST_SRID(geom) = 4326),
                (select count(*) from bench.{table} where ST_SRID(geom) = 4326)"
    );
    Ok(sqlx::query_as(AssertSqlSafe(count)).fetch_one(pool).await?)
}

/// Copies the cells above a resolution into a table of its own, with or without a key; says how many, and how
/// long the COPY and its commit took.
pub(super) async fn copy_cells(
    pool: &PgPool,
    table: &str,
    above: u8,
    key: bool,
) -> anyhow::Result<(u64, Duration)> {
    let mut connection = pool.acquire().await?;
    let out = format!(
        "copy (select h3, resolution, parent from geo.{table} where resolution > {above} order by h3)
         to stdout (format binary)"
    );
    let mut rows = Vec::new();
    let mut read = connection.copy_out_raw(&out).await?;
    while let Some(piece) = read.try_next().await? {
        rows.extend_from_slice(&piece);
    }
    drop(read);
    let key = if key { "primary key" } else { "not null" };
    let make = format!(
        "drop table if exists bench.{table};
         create table bench.{table} (h3 bigint {key}, resolution smallint not null, parent bigint)"
    );
    sqlx::raw_sql(AssertSqlSafe(make))
        .execute(&mut *connection)
        .await?;
    let start = now();
    let into = format!("copy bench.{table} from stdin (format binary)");
    let mut copy = connection.copy_in_raw(&into).await?;
    for piece in rows.chunks(PIECE) {
        copy.send(piece).await?;
    }
    let count = copy.finish().await?;
    Ok((count, start.elapsed()))
}

/// Why a job failed.
pub(super) async fn failure(pool: &PgPool, job: JobId) -> anyhow::Result<String> {
    let failure: Option<String> = sqlx::query_scalar(
        "select convert_from(payload, 'UTF8') from dagapp.events where stream_id = $1 and type = 'job_failed'",
    )
    .bind(format!("job:{job}"))
    .fetch_optional(pool)
    .await?;
    Ok(failure.unwrap_or_else(|| "it did not complete".to_owned()))
}
