//! The events of a job: the log itself.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool};

use super::limit;
use crate::Error;

/// A row of `dag_job_events`.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct JobEvent {
    /// The position in the log.
    pub event_id: i64,
    pub version: i64,
    pub node_id: Option<String>,
    pub event_type: String,
    pub event_status: Option<String>,
    pub event_data: Value,
    pub checkpoint_name: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// Events of a job after `version`, in order.
pub async fn job_events(
    pool: &PgPool,
    job_id: &str,
    version: i64,
    wanted: i64,
) -> Result<Vec<JobEvent>, Error> {
    let rows = sqlx::query_as(
        "select event_id, version, node_id, event_type, event_status, event_data, checkpoint_name, created_at
         from dagapp.dag_job_events
         where stream_id = 'job:' || $1 and version > $2
         order by version limit $3",
    )
    .bind(job_id)
    .bind(version)
    .bind(limit(wanted))
    .fetch_all(pool)
    .await?;
    Ok(rows)
}
