//! Requests: submitted once, settled once.

use std::collections::HashMap;

use domain::request::Event;
use sqlx::PgConnection;

use crate::Error;
use crate::store::log::Entry;
use crate::store::requests::{self, Settled, Submitted};

/// The beginning of the names of request streams.
pub(crate) const STREAM: &str = "request:";

/// What one batch says about requests.
#[derive(Debug, Default)]
pub(super) struct Requests {
    submitted: Vec<Submitted>,
    /// The first outcome of each request.
    settled: HashMap<String, Settled>,
}

impl Requests {
    pub(super) fn apply(&mut self, entry: &Entry, event: &Event) {
        match Said::of(&entry.stream_id, entry.pos, event) {
            Said::Submitted(submitted) => self.submitted.push(submitted),
            Said::Settled(settled) => {
                let request_id = settled.request_id.clone();
                self.settled.entry(request_id).or_insert(settled);
            }
        }
    }

    pub(super) async fn flush(self, db: &mut PgConnection) -> Result<(), Error> {
        requests::add(db, &self.submitted).await?;
        requests::settle(db, &self.settled.values().collect::<Vec<_>>()).await?;
        Ok(())
    }
}

/// What one event says about its request.
#[derive(Debug)]
pub(crate) enum Said {
    Submitted(Submitted),
    Settled(Settled),
}

impl Said {
    pub(crate) fn of(stream_id: &str, pos: i64, event: &Event) -> Self {
        let (status, job_id, reason, at) = match event {
            Event::RequestSubmitted { submission, at } => {
                return Self::Submitted(Submitted {
                    submission: submission.clone(),
                    at: *at,
                    pos,
                });
            }
            Event::JobAssigned { job_id, at } => ("assigned", Some(job_id.to_string()), None, at),
            Event::RequestWithdrawn { reason, at } => ("withdrawn", None, Some(reason.clone()), at),
        };
        let request_id = stream_id.strip_prefix(STREAM);
        Self::Settled(Settled {
            request_id: request_id.unwrap_or(stream_id).to_owned(),
            status,
            job_id,
            reason,
            at: *at,
            pos,
        })
    }
}
