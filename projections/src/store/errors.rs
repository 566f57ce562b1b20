//! Streams that could not be followed: `projection_errors`.

use sqlx::PgConnection;

use super::log::Entry;

/// An event that a projector could not apply.
#[derive(Debug, Clone)]
pub(crate) struct Parked {
    pub(crate) stream_id: String,
    pub(crate) pos: i64,
    pub(crate) version: i64,
    pub(crate) kind: String,
    pub(crate) error: String,
}

impl Parked {
    pub(crate) fn new(entry: &Entry, error: String) -> Self {
        Self {
            stream_id: entry.stream_id.clone(),
            pos: entry.pos,
            version: entry.version,
            kind: entry.kind.clone(),
            error: error.replace('\0', ""),
        }
    }
}

/// Keeps the first error of each stream, and marks the rows of those streams.
pub(crate) async fn park(
    db: &mut PgConnection,
    projector: &str,
    parked: &[Parked],
) -> sqlx::Result<()> {
    if parked.is_empty() {
        return Ok(());
    }
    let streams: Vec<&str> = parked.iter().map(|p| p.stream_id.as_str()).collect();
    sqlx::query(
        "insert into projection_errors (projector, stream_id, pos, version, type, error)
         select $1, * from unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
         on conflict (projector, stream_id) do nothing",
    )
    .bind(projector)
    .bind(&streams)
    .bind(parked.iter().map(|p| p.pos).collect::<Vec<_>>())
    .bind(parked.iter().map(|p| p.version).collect::<Vec<_>>())
    .bind(parked.iter().map(|p| p.kind.as_str()).collect::<Vec<_>>())
    .bind(parked.iter().map(|p| p.error.as_str()).collect::<Vec<_>>())
    .execute(&mut *db)
    .await?;
    let ids = |prefix: &str| -> Vec<String> {
        let id = |s: &&str| s.strip_prefix(prefix).map(str::to_owned);
        streams.iter().filter_map(id).collect()
    };
    sqlx::query("update dag_jobs set degraded = true where job_id = any($1)")
        .bind(ids("job:"))
        .execute(&mut *db)
        .await?;
    sqlx::query("update assets set degraded = true where asset_id = any($1)")
        .bind(ids("asset:"))
        .execute(db)
        .await?;
    Ok(())
}

/// The streams that a projector no longer follows.
pub(crate) async fn parked(db: &mut PgConnection, projector: &str) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar("select stream_id from projection_errors where projector = $1")
        .bind(projector)
        .fetch_all(db)
        .await
}
