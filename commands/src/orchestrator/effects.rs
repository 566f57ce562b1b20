//! What a decision leads to outside the desk: appends, answers, task messages, orders to workers.

use async_nats::Subject;
use bus::Bus;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use domain::event::Event as AnyEvent;
use domain::id::RunId;
use domain::job::Event;
use domain::message::{Refusal, ReportReply, StopRuns, TaskMessage};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::mpsc;

use super::asset::News;
use super::door::{Door, Input};
use super::held::Held;
use super::options::Dispatch;
use super::reports::{ReplyTo, send};
use crate::appender::{AppendError, Appended};
use crate::log::{Append, Expected, OpenJob};
use crate::write::{Writer, owned_meta};

/// The ways out of the desk; none of them makes it wait.
pub(super) struct Effects {
    pub(super) bus: Bus,
    pub(super) dispatch: Arc<dyn Dispatch>,
    pub(super) replies: mpsc::UnboundedSender<(Subject, Bytes)>,
    /// A job that has nothing to do for so long is put down.
    pub(super) put_down_after: TimeDelta,
}

/// Whether nothing can follow an event in its job.
pub(super) fn ends(event: &Event) -> bool {
    matches!(
        event,
        Event::JobCompleted { .. } | Event::JobFailed { .. } | Event::JobCancelled { .. }
    )
}

/// The answer to whoever works on something that no longer counts.
pub(super) fn superseded(message: &str) -> ReportReply {
    ReportReply::Refused {
        refusal: Refusal::Superseded,
        message: message.to_owned(),
    }
}

impl Effects {
    /// Answers a worker.
    pub(super) fn answer(&self, to: ReplyTo, reply: &ReportReply) {
        if let Some(to) = to {
            send(&self.replies, to, reply);
        }
    }

    /// Sends the next events of a job to the appender; what becomes of them comes back to the desk.
    pub(super) fn append(&self, writer: &Writer, door: &Door, held: &mut Held) {
        let events = held.take();
        let end = events.iter().find(|event| ends(event)).cloned();
        let job = held.job_id;
        let mut news = Vec::new();
        if held.asset_id.is_some() && held.version == 0 {
            news.push(News::Began);
        }
        let first = Append {
            stream: format!("job:{job}"),
            expected: Expected::Version(held.version),
            org_id: held.org_id.to_string(),
            meta: owned_meta(held.fence, held.request_id.to_string(), held.trace),
            open_job: open_job(held, end.is_some(), writer.clock.now(), self.put_down_after),
            events: events.into_iter().map(AnyEvent::Job).collect(),
            closes: end.is_some(),
        };
        let mut group = vec![first];
        group.append(&mut held.companions);
        news.extend(end.map(|end| News::Ended(Box::new(end))));
        let life = held.life;
        let asset = held.asset_id.filter(|_| !news.is_empty());
        let (writer, door) = (writer.clone(), door.clone());
        tokio::spawn(async move {
            let result = match asset {
                None => writer.appender.append(&group).await,
                Some(asset_id) => append_with_asset(&writer, group, (asset_id, job), &news).await,
            };
            door.bring(Input::Appended { job, life, result });
        });
    }

    /// Publishes the tasks among these events, now that they are in the log.
    pub(super) fn publish(&self, held: &Held, events: &[Event]) {
        let mut messages = Vec::new();
        for event in events {
            let node = match event {
                Event::NodeDispatched(dispatched) => &dispatched.node,
                Event::NodeRedispatched { node, .. } => node,
                _ => continue,
            };
            messages.extend(message(held, node));
        }
        if !messages.is_empty() {
            self.dispatch.publish(messages);
        }
    }

    /// Publishes everything that is out and not running: what a new owner does first.
    pub(super) fn publish_outstanding(&self, held: &Held) {
        let waiting = held.outstanding.iter().filter(|(_, out)| out.run.is_none());
        let messages: Vec<_> = waiting
            .filter_map(|(node, _)| message(held, node))
            .collect();
        if !messages.is_empty() {
            self.dispatch.publish(messages);
        }
    }

    /// Tells workers that the results of these runs no longer count.
    pub(super) fn stop(&self, runs: HashMap<String, Vec<RunId>>) {
        for (worker, runs) in runs {
            let bus = self.bus.clone();
            tokio::spawn(async move {
                let subject = bus.subjects.worker(&worker);
                bus.hint(subject, &StopRuns { runs }).await;
            });
        }
    }
}

/// The message of a task that is out.
fn message(held: &Held, node: &domain::id::NodeId) -> Option<TaskMessage> {
    let out = held.outstanding.get(node)?;
    let view = held.state.node(node)?;
    Some(TaskMessage::new(
        held.job_id,
        held.fence.owner,
        held.trace,
        &out.dispatched,
        view.checkpoint,
    ))
}

/// What becomes of the row in `open_jobs` with the next append.
fn open_job(
    held: &mut Held,
    is_end: bool,
    now: DateTime<Utc>,
    put_down_after: TimeDelta,
) -> Option<OpenJob> {
    let job_id = held.job_id.to_string();
    let weight = u32::try_from(held.weight()).unwrap_or(u32::MAX);
    if is_end {
        return Some(OpenJob::Close { job_id });
    }
    if held.version == 0 {
        return Some(OpenJob::Claim {
            job_id,
            owner: held.fence.owner.0,
            epoch: held.fence.epoch,
            weight: Some(weight),
        });
    }
    let due = held.idle_until();
    held.put_down = due.filter(|due| *due - now >= put_down_after);
    let unsettled = std::mem::take(&mut held.unsettled);
    held.settling = unsettled;
    (unsettled || held.put_down.is_some()).then_some(OpenJob::Settle {
        job_id,
        weight,
        due: held.put_down,
    })
}

/// The beginning or the end of a job and what it means for its asset are one commit. If only the
/// asset has moved, that part is decided again.
async fn append_with_asset(
    writer: &Writer,
    group: Vec<Append>,
    (asset_id, job): (domain::asset::AssetId, domain::id::JobId),
    news: &[News],
) -> Result<Appended, AppendError> {
    loop {
        let mut with_asset = group.clone();
        match writer.asset_news(asset_id, job, news).await {
            Ok(append) => with_asset.extend(append.map(|mut append| {
                append.meta.trace = group.first().and_then(|first| first.meta.trace.clone());
                append
            })),
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "cannot read the asset of an ended job; trying again");
                tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        match writer.appender.append(&with_asset).await {
            // Everything but the asset is as it was seen, so it must have been the asset.
            Err(AppendError::Conflict { versions })
                if with_asset.len() > group.len()
                    && group.iter().zip(&versions).all(|(append, version)| {
                        append.expected == Expected::Version(*version)
                    }) => {}
            other => return other,
        }
    }
}
