//! Whose a job is, straight from the log: right at once, also for a job that no read model shows yet.

use domain::id::JobId;

use crate::log::LogError;
use crate::write::Writer;

impl Writer {
    /// The organisation of a job, or of the request that waits for it.
    pub async fn org_of_job(&self, job: JobId) -> Result<Option<String>, LogError> {
        let stream = format!("job:{job}");
        if let Some(org) = self.org_of_stream(&stream).await? {
            return Ok(Some(org));
        }
        match self.log.open_job(job).await? {
            Some(open) => {
                self.org_of_stream(&format!("request:{}", open.request_id))
                    .await
            }
            // It may have been made and have ended between the two looks.
            None => self.org_of_stream(&stream).await,
        }
    }

    async fn org_of_stream(&self, stream: &str) -> Result<Option<String>, LogError> {
        let first = self.log.read_stream(stream, 0, 1).await?;
        Ok(first.into_iter().next().map(|first| first.org_id))
    }
}
