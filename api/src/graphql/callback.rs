//! Callbacks: who is told when a job has ended, and what came of it.

use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, Utc};
use projections::read;

use super::loaders::{DeliveriesOf, Loaders};
use super::words::JobStatus;

/// One address that is called when a job ends.
pub(super) struct Callback(pub(super) read::Callback);

/// One try to deliver it.
#[derive(Debug, SimpleObject)]
pub(super) struct Delivery {
    /// Counted over all rounds.
    attempt: i32,
    at: DateTime<Utc>,
    duration_ms: i32,
    /// What the receiver answered; nothing if it did not.
    status_code: Option<i32>,
    error_code: Option<String>,
    error: Option<String>,
    /// A person had asked for it again.
    by_hand: bool,
}

impl From<read::Delivery> for Delivery {
    fn from(row: read::Delivery) -> Self {
        Self {
            attempt: row.attempt,
            at: row.at,
            duration_ms: row.duration_ms,
            status_code: row.status_code,
            error_code: row.error_code,
            error: row.error,
            by_hand: row.by_hand,
        }
    }
}

#[Object]
impl Callback {
    /// The `webhook-id` of every try.
    async fn id(&self) -> &str {
        &self.0.callback_id
    }

    async fn job_id(&self) -> &str {
        &self.0.job_id
    }

    async fn request_id(&self) -> &str {
        &self.0.request_id
    }

    async fn url(&self) -> &str {
        &self.0.url
    }

    /// The name of the secret that signs it.
    async fn secret_ref(&self) -> &str {
        &self.0.secret_ref
    }

    /// `waiting`, `due`, `delivered` or `given_up`.
    async fn status(&self) -> &str {
        &self.0.status
    }

    /// How the job ended.
    async fn job_status(&self) -> Option<JobStatus> {
        self.0.job_status.as_deref().map(JobStatus::of)
    }

    /// All tries so far.
    async fn attempts(&self) -> i32 {
        self.0.deliveries
    }

    async fn due_at(&self) -> Option<DateTime<Utc>> {
        self.0.due_at
    }

    async fn created_at(&self) -> DateTime<Utc> {
        self.0.created_at
    }

    async fn settled_at(&self) -> Option<DateTime<Utc>> {
        self.0.settled_at
    }

    async fn last_status_code(&self) -> Option<i32> {
        self.0.last_status
    }

    async fn last_error_code(&self) -> Option<&str> {
        self.0.last_code.as_deref()
    }

    async fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// Its tries, the last fifty.
    #[graphql(complexity = "5 + 10 * child_complexity")]
    async fn deliveries(&self, ctx: &Context<'_>) -> async_graphql::Result<Vec<Delivery>> {
        let key = DeliveriesOf(self.0.callback_id.clone());
        let loaded = ctx.data::<Loaders>()?.load_one(key).await?;
        let rows = loaded.map(|rows| rows.iter().cloned().map(Delivery::from).collect());
        Ok(rows.unwrap_or_default())
    }
}
