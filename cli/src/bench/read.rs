//! How fast PostgreSQL gives the log away, on the database of the same run: a repository module of SQL.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use sqlx::{PgPool, Row as _};

use super::meter::now;

/// Positions of one statement, as `audit verify` reads them.
const RANGE: i64 = 8_192;

/// Reads all columns of all events in order, on one connection, and does nothing with them.
pub(super) async fn in_order(pool: &PgPool, upto: i64) -> anyhow::Result<Duration> {
    let mut db = pool.acquire().await?;
    let start = now();
    let (mut read, mut from) = (0, 1);
    while from <= upto {
        let mut rows = sqlx::query(
            "select pos, stream_id, version, type, schema_ver, org_id, payload, meta, recorded_at, leaf
             from dagapp.events where pos >= $1 and pos <= $2 order by pos",
        )
        .bind(from)
        .bind((from + RANGE - 1).min(upto))
        .fetch(&mut *db);
        while let Some(row) = rows.try_next().await? {
            let bytes: (&[u8], &[u8], &[u8]) = (row.try_get(6)?, row.try_get(7)?, row.try_get(9)?);
            std::hint::black_box(bytes);
            read += 1;
        }
        from += RANGE;
    }
    anyhow::ensure!(read == upto, "{read} of {upto} events were read");
    Ok(start.elapsed())
}

/// The last position, with fresh statistics, all pages seen, and nothing of the making of the log left to be written: what
/// ran for a while has that anyway.
pub(super) async fn settle(pool: &PgPool) -> anyhow::Result<i64> {
    sqlx::query("vacuum analyze dagapp.events")
        .execute(pool)
        .await?;
    sqlx::query("checkpoint").execute(pool).await?;
    Ok(sqlx::query_scalar("select pos from dagapp.log_head")
        .fetch_one(pool)
        .await?)
}
