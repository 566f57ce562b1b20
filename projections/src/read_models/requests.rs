//! Requests: submitted once, settled once.

use std::collections::HashMap;

use domain::request::Event;
use sqlx::PgConnection;

use crate::Error;
use crate::store::log::Entry;
use crate::store::requests::{self, Settled, Submitted};

/// What one batch says about requests.
#[derive(Debug, Default)]
pub(super) struct Requests {
    submitted: Vec<Submitted>,
    /// The first outcome of each request.
    settled: HashMap<String, Settled>,
}

impl Requests {
    pub(super) fn apply(&mut self, entry: &Entry, event: &Event) {
        let (status, job_id, reason, at) = match event {
            Event::RequestSubmitted { submission, at } => {
                self.submitted.push(Submitted {
                    submission: submission.clone(),
                    at: *at,
                    pos: entry.pos,
                });
                return;
            }
            Event::JobAssigned { job_id, at } => ("assigned", Some(job_id.to_string()), None, at),
            Event::RequestWithdrawn { reason, at } => ("withdrawn", None, Some(reason.clone()), at),
        };
        let request_id = entry.stream_id.strip_prefix("request:");
        let request_id = request_id.unwrap_or(&entry.stream_id).to_owned();
        let settled = Settled {
            request_id: request_id.clone(),
            status,
            job_id,
            reason,
            at: *at,
            pos: entry.pos,
        };
        self.settled.entry(request_id).or_insert(settled);
    }

    pub(super) async fn flush(self, db: &mut PgConnection) -> Result<(), Error> {
        requests::add(db, &self.submitted).await?;
        requests::settle(db, &self.settled.values().collect::<Vec<_>>()).await?;
        Ok(())
    }
}
