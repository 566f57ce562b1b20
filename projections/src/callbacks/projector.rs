//! From the log to the outbox.

use std::sync::Arc;

use domain::callback::{self, RETRY_COUNT, TIMEOUT_SECONDS};
use domain::event::Event;
use domain::id::{CallbackId, JobId};
use domain::request::{CallbackRef, Submission};
use domain::{job, request};
use serde_json::{Value, json};
use sqlx::PgConnection;
use tokio::sync::Notify;
use url::Url;

use crate::Error;
use crate::projector::Projector;
use crate::store::callbacks::outbox::{self, Again, Asked, Ended};
use crate::store::errors::{self, Parked};
use crate::store::log::Entry;

/// The name of this projector in `projection_checkpoints`.
pub const NAME: &str = "callbacks";
/// Never raised to build the outbox anew: what was sent was sent.
const VERSION: i32 = 1;
/// The only events that say anything about callbacks.
const KINDS: &[&str] = &[
    "request_submitted",
    "request_withdrawn",
    "job_completed",
    "job_failed",
    "job_cancelled",
    "callback_redelivery_requested",
];
/// The secret of callbacks of whose secret a request says nothing.
const DEFAULT_SECRET: &str = "default";
/// How much of the reason of a failure a receiver gets.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// Keeps the outbox.
#[derive(Debug)]
pub(super) struct Callbacks {
    /// Told when something became due.
    due: Arc<Notify>,
    any_due: bool,
}

impl Callbacks {
    pub(super) fn new(due: Arc<Notify>) -> Self {
        Self {
            due,
            any_due: false,
        }
    }
}

/// What one batch says.
#[derive(Debug, Default)]
struct News {
    asked: Vec<Asked>,
    ended: Vec<Ended>,
    again: Vec<Again>,
}

impl Projector for Callbacks {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> i32 {
        VERSION
    }

    fn kinds(&self) -> Option<&'static [&'static str]> {
        Some(KINDS)
    }

    fn reset(&mut self) {
        self.any_due = false;
    }

    async fn project(&mut self, db: &mut PgConnection, batch: Vec<Entry>) -> Result<(), Error> {
        let mut news = News::default();
        let mut unfit = Vec::new();
        for entry in &batch {
            match entry.decode() {
                Ok(event) => news.take(entry, event),
                Err(error) => unfit.push(parked(entry, Error::Decode(error).chain())),
            }
        }
        outbox::ask(db, &news.asked).await?;
        let due = outbox::end(db, &news.ended).await? + outbox::repeat(db, &news.again).await?;
        self.any_due = due > 0;
        errors::park(db, NAME, &unfit).await?;
        Ok(())
    }

    fn committed(&mut self) {
        if std::mem::take(&mut self.any_due) {
            self.due.notify_one();
        }
    }

    async fn park(
        &mut self,
        db: &mut PgConnection,
        entry: &Entry,
        error: String,
    ) -> Result<(), Error> {
        errors::park(db, NAME, &[parked(entry, error)]).await?;
        Ok(())
    }
}

fn parked(entry: &Entry, error: String) -> Parked {
    tracing::error!(
        stream = entry.stream_id, pos = entry.pos, kind = entry.kind, %error,
        "an event cannot be applied; its callbacks may be missing"
    );
    Parked::new(entry, error)
}

impl News {
    fn take(&mut self, entry: &Entry, event: Event) {
        match event {
            Event::Request(request::Event::RequestSubmitted { submission, at }) => {
                let each = submission.callbacks.iter().enumerate();
                let asked = each.map(|(place, callback)| asked(&submission, place, callback, at));
                self.asked.extend(asked);
            }
            Event::Request(request::Event::RequestWithdrawn { reason, .. }) => {
                let id = entry.stream_id.strip_prefix("request:");
                if let Some(Ok(id)) = id.map(str::parse) {
                    let job_id = JobId::of_request(id).to_string();
                    self.end(entry, &job_id, "CANCELLED", cancelled(&reason));
                }
            }
            Event::Job(event) => self.take_job(entry, &event),
            Event::Callback(callback::Event::CallbackRedeliveryRequested { round, .. }) => {
                if let Some(id) = entry.stream_id.strip_prefix("callback:") {
                    self.again.push(Again {
                        callback_id: id.to_owned(),
                        round: i32::try_from(round).unwrap_or(i32::MAX),
                    });
                }
            }
            _ => {}
        }
    }

    fn take_job(&mut self, entry: &Entry, event: &job::Event) {
        let Some(job_id) = entry.stream_id.strip_prefix("job:") else {
            return;
        };
        match event {
            job::Event::JobCompleted { .. } => self.end(entry, job_id, "COMPLETED", None),
            job::Event::JobFailed { failure, node } => {
                let error = json!({
                    "code": failure.code,
                    "category": failure.class,
                    "message": cut(&failure.message),
                    "node": node,
                });
                self.end(entry, job_id, "FAILED", Some(error));
            }
            job::Event::JobCancelled { reason } => {
                self.end(entry, job_id, "CANCELLED", cancelled(reason));
            }
            _ => {}
        }
    }

    fn end(&mut self, entry: &Entry, job_id: &str, status: &'static str, error: Option<Value>) {
        self.ended.push(Ended {
            job_id: job_id.to_owned(),
            status,
            error,
            at: entry.recorded_at,
            pos: entry.pos,
        });
    }
}

fn cancelled(reason: &str) -> Option<Value> {
    Some(json!({
        "code": "cancelled",
        "category": "cancelled",
        "message": cut(reason),
        "node": null,
    }))
}

fn cut(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}

fn asked(
    submission: &Submission,
    place: usize,
    callback: &CallbackRef,
    at: chrono::DateTime<chrono::Utc>,
) -> Asked {
    let job_id = JobId::of_request(submission.request_id);
    let small = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
    let secret_ref = callback.secret_ref.as_deref().unwrap_or(DEFAULT_SECRET);
    Asked {
        callback_id: CallbackId::of_job(job_id, place).to_string(),
        job_id: job_id.to_string(),
        request_id: submission.request_id.to_string(),
        org_id: submission.org_id.clone(),
        job_type: submission.workflow_id.clone(),
        ordinal: i32::try_from(place).unwrap_or(i32::MAX),
        url: callback.url.clone(),
        endpoint: endpoint(&submission.org_id, &callback.url),
        secret_ref: secret_ref.to_owned(),
        retry_count: small(callback.retry_count.unwrap_or(RETRY_COUNT)),
        timeout_seconds: small(callback.timeout_seconds.unwrap_or(TIMEOUT_SECONDS)),
        at,
    }
}

/// What shares a breaker: one server of one organisation, so that nobody's mistakes are another's.
fn endpoint(org_id: &str, url: &str) -> String {
    let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
    format!("{org_id} {}", origin.as_deref().unwrap_or("unreadable"))
}
