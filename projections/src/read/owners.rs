//! Orchestrators: their leases, and what they hold.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Error;

/// An orchestrator that is, or was, alive.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct Owner {
    pub owner_id: Uuid,
    pub host: String,
    pub started_at: DateTime<Utc>,
    pub beat_at: DateTime<Utc>,
    pub stale_seconds: f64,
    pub is_alive: bool,
    pub open_jobs: i64,
    pub open_nodes: i64,
}

/// All orchestrators, the youngest lease first.
pub async fn owners(pool: &PgPool) -> Result<Vec<Owner>, Error> {
    let rows = sqlx::query_as(
        "select o.owner_id, o.host, o.started_at, o.beat_at, o.stale_seconds,
                o.beat_at > clock_timestamp() - make_interval(secs => o.stale_seconds) as is_alive,
                coalesce(j.jobs, 0) as open_jobs, coalesce(j.nodes, 0) as open_nodes
         from dagapp.owners o
         left join (select owner_id, count(*) as jobs, sum(weight)::bigint as nodes
                    from dagapp.open_jobs where owner_id is not null group by owner_id) j using (owner_id)
         order by o.beat_at desc limit 1000",
    );
    Ok(rows.fetch_all(pool).await?)
}
