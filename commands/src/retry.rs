//! Retry: a new request whose job takes over what a failed or cancelled one has finished.

use domain::id::JobId;
use domain::job::{Plan, plan_retry};

use crate::older::{ReuseError, Reusing};
use crate::submit::Order;
use crate::write::Writer;

impl Writer {
    /// Submits the work of a failed or cancelled job again. Asked twice, the answer is the same new
    /// job: what fails again is retried by its own id.
    pub async fn retry(&self, job: JobId, actor: &str) -> Result<Reusing, ReuseError> {
        let older = self.older(job).await?;
        let plan = plan_retry(&older.state)?;
        let order = Order {
            retry_of: Some(job),
            idempotency_key: Some(format!("retry of {job}")),
            ..older.order(actor)
        };
        let submitted = self.submit(order).await?;
        Ok(Reusing { submitted, plan })
    }

    /// What a retry would take over and run; nothing is written.
    pub async fn preview_retry(&self, job: JobId) -> Result<Plan, ReuseError> {
        Ok(plan_retry(&self.older(job).await?.state)?)
    }
}
