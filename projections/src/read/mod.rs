//! Queries on the read models, for the command line and the API. They never write.
//!
//! Lists are pages with a cursor; a page never holds more than [`PAGE_MAX`] rows.

mod assets;
mod callbacks;
mod events;
mod facade;
mod feed;
mod history;
mod jobs;
mod nodes;
mod owners;
mod platforms;
mod position;
mod projections;
mod requests;
mod revisions;
mod vitals;
mod workflows;

pub use assets::{Asset, AssetFilter, Revision, assets, assets_by_id, revisions_of_assets};
pub use callbacks::{
    Callback, CallbackBacklog, CallbackFilter, Delivery, callback, callback_backlog, callbacks,
    callbacks_of_jobs, deliveries,
};
pub use events::{JobEvent, job_events};
pub use facade::{JobRecord, job_record};
pub use feed::{
    LogEvent, LogHead, StreamFilter, events_at, log_after, log_head, org_after, stream_after,
    stream_events,
};
pub(crate) use history::{job_counts_at, jobs_at};
pub(crate) use jobs::jobs_of;
pub use jobs::{Job, JobFilter, job, job_counts, jobs, jobs_by_id, jobs_made_from, matching_jobs};
pub use nodes::{
    AttemptFilter, ChildCounts, ChildFilter, Node, TaskResult, attempts, attempts_of_nodes,
    children, fan_outs, fan_outs_of_jobs, node, nodes_of_jobs,
};
pub(crate) use nodes::{parse_place, place, results_upto};
pub use owners::{Owner, owners};
pub use platforms::{Platform, platforms};
pub use position::{
    Checkpoint, ParkedStream, checkpoints, connections_max, head, parked, position, wait_for,
};
pub use projections::{Projection, Rebuild, projections};
pub use requests::{Request, RequestFilter, requests, requests_by_id};
pub use revisions::{AssetStep, RevisionFilter, askers_of_requests, revisions, steps_of_assets};
pub use vitals::{Progress, ProjectorVitals, Vitals, progress, vitals};
pub use workflows::{Workflow, workflow, workflows};

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::Error;

/// Rows of one page, at most.
pub const PAGE_MAX: i64 = 1_000;

/// Some rows, and where the next ones begin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// `None` at the end of the list.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// `rows` were asked for with one more than `limit`.
    pub(crate) fn cut(mut rows: Vec<T>, limit: i64, cursor: impl Fn(&T) -> String) -> Self {
        let limit = usize::try_from(limit).unwrap_or(0);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(cursor);
        Self { items: rows, next }
    }
}

pub(crate) fn limit(wanted: i64) -> i64 {
    wanted.clamp(1, PAGE_MAX)
}

/// Lists by time carry the time and the id of their last row.
fn time_cursor(at: DateTime<Utc>, id: &str) -> String {
    format!("{}_{id}", at.timestamp_micros())
}

fn parse_time_cursor(cursor: Option<&str>) -> Result<Option<(DateTime<Utc>, &str)>, Error> {
    let Some(text) = cursor else { return Ok(None) };
    let parsed = text.split_once('_').and_then(|(micros, id)| {
        let at = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
        // What no database keeps is no place in a list.
        let fits = (0..=253_402_300_799).contains(&at.timestamp()) && !id.contains('\0');
        fits.then_some((at, id))
    });
    parsed
        .map(Some)
        .ok_or_else(|| Error::Cursor(text.chars().take(80).collect()))
}
