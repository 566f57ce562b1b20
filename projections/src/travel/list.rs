//! Lists of jobs as they were: which jobs had which status comes from `dag_jobs_history`, how far each of them was
//! from the job itself.

use std::collections::HashMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{FOLDS_MAX, Moment, Traveller};
use crate::Error;
use crate::read::{self, JobFilter, Page};
use crate::read_models::job::STREAM;
use crate::store::travel as store;

/// How long a list waits for the read models to come to its moment.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// A page of a list at some moment.
#[derive(Debug, Clone)]
pub struct JobsAt {
    pub moment: Moment,
    pub page: Page<read::Job>,
}

impl Traveller {
    /// Jobs, the newest first, as the list showed them.
    pub async fn jobs(&self, filter: &JobFilter, moment: Moment) -> Result<JobsAt, Error> {
        read::wait_for(&self.pool, moment.pos, PATIENCE).await?;
        let found = read::jobs_at(&self.pool, filter, moment).await?;
        let ids: Vec<String> = found.items.iter().map(|row| row.job_id.clone()).collect();
        let now = read::jobs_of(&self.pool, &ids).await?;
        let mut now: HashMap<String, read::Job> = now
            .into_iter()
            .map(|row| (row.job_id.clone(), row))
            .collect();
        let streams: Vec<String> = ids.iter().map(|id| format!("{STREAM}{id}")).collect();
        let last = store::last_of(&self.pool, &streams, moment.pos).await?;
        let last: HashMap<String, i64> = last.into_iter().collect();
        let rows = found.items.iter().zip(&streams).map(|(row, stream)| {
            let now = now.remove(&row.job_id);
            let last_pos = last.get(stream).copied();
            // Nothing has happened since, or nothing that matters: an ended job stays as it is.
            let same = now.filter(|now| now.last_pos <= moment.pos || row.is_over());
            (stream.clone(), same, last_pos)
        });
        let rows: Vec<_> = rows.collect();
        let rows = stream::iter(rows).map(|(stream, same, last_pos)| async move {
            match same {
                Some(row) => Ok(Some(read::Job {
                    owner_heartbeat_at: None,
                    // Its last event may be archived; its row is not.
                    last_pos: last_pos.unwrap_or(row.last_pos),
                    ..row
                })),
                None => self.row(&stream, moment).await,
            }
        });
        let rows: Vec<Option<read::Job>> = rows.buffered(FOLDS_MAX).try_collect().await?;
        let page = Page {
            items: rows.into_iter().flatten().collect(),
            next: found.next,
        };
        Ok(JobsAt { moment, page })
    }

    /// How many jobs that fit the filter had each status, whatever page and status it asks for.
    pub async fn job_counts(
        &self,
        filter: &JobFilter,
        moment: Moment,
    ) -> Result<Vec<(String, i64)>, Error> {
        read::wait_for(&self.pool, moment.pos, PATIENCE).await?;
        read::job_counts_at(&self.pool, filter, moment).await
    }

    async fn row(&self, stream: &str, moment: Moment) -> Result<Option<read::Job>, Error> {
        let whole = self.fold(stream, moment.pos, true).await?;
        let job = whole.map(|whole| super::JobAt::new(self.pool.clone(), moment, whole));
        Ok(job.map(|job| job.row()))
    }
}
