//! Jobs under the names of G-21, for the facade of job types.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgPool};

use crate::Error;

/// A row of `app.jobs`.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize)]
pub struct JobRecord {
    pub job_id: String,
    pub request_id: String,
    pub job_type: String,
    /// QUEUED, PROCESSING, COMPLETED or FAILED.
    pub status: String,
    pub stage: i32,
    pub total_stages: i32,
    pub parameters: Value,
    pub stage_results: Value,
    pub result_data: Option<Value>,
    pub error_details: Option<Value>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
}

/// One job of the organisation.
pub async fn job_record(
    pool: &PgPool,
    org_id: &str,
    job_id: &str,
) -> Result<Option<JobRecord>, Error> {
    let row = sqlx::query_as(
        "select a.job_id, j.request_id, a.job_type, a.status, a.stage, a.total_stages, a.parameters,
                a.stage_results, a.result_data, a.error_details, a.created_at, a.updated_at, a.completed_at
         from dagapp.dag_jobs j join app.jobs a using (job_id)
         where j.job_id = $1 and j.org_id = $2",
    );
    Ok(row.bind(job_id).bind(org_id).fetch_optional(pool).await?)
}
