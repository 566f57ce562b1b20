//! Whose a job is, straight from the log: right at once, also for a job that no read model shows yet.

use domain::id::JobId;

use crate::log::LogError;
use crate::write::Writer;

impl Writer {
    /// The organisation of a job, or of the request that waits for it.
    pub async fn org_of_job(&self, job: JobId) -> Result<Option<String>, LogError> {
        let first = self.log.read_stream(&format!("job:{job}"), 0, 1).await?;
        if let Some(first) = first.into_iter().next() {
            return Ok(Some(first.org_id));
        }
        let Some(open) = self.log.open_job(job).await? else {
            return Ok(None);
        };
        let stream = format!("request:{}", open.request_id);
        let first = self.log.read_stream(&stream, 0, 1).await?;
        Ok(first.into_iter().next().map(|first| first.org_id))
    }
}
