//! What workers say: reports by request and reply, heartbeats, and the question who owns a job.

use std::sync::Arc;

use async_nats::{Message, Subject, Subscriber};
use bus::Bus;
use bytes::Bytes;
use domain::id::{JobId, OwnerId};
use domain::message::{
    Heartbeat, JobChanged, MESSAGE_BYTES_MAX, Refusal, ReportMessage, ReportReply, WhereIs,
    Whereabouts,
};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::door::{Door, Input};
use super::results;
use crate::dead_letter;
use crate::log::Log;

/// Where an answer goes; nowhere if the sender did not ask for one.
pub(super) type ReplyTo = Option<Subject>;

/// What a process sends to itself to see that reports still arrive.
pub(super) const PING: &[u8] = b"ping";

/// Listens until the end.
pub(super) async fn listen(
    bus: Bus,
    owner: OwnerId,
    door: Door,
    log: Arc<dyn Log>,
    replies: mpsc::UnboundedSender<(Subject, Bytes)>,
    shutdown: CancellationToken,
) -> Result<(), async_nats::SubscribeError> {
    let mut reports = bus.client.subscribe(bus.subjects.report(owner)).await?;
    let mut heartbeats = bus.client.subscribe(bus.subjects.heartbeats()).await?;
    let mut changes = bus.client.subscribe(bus.subjects.job_changed()).await?;
    let questions = bus
        .client
        .queue_subscribe(bus.subjects.reports_any(), "orchestrators".to_owned())
        .await?;
    let queries = bus
        .client
        .queue_subscribe(bus.subjects.results_any(), "orchestrators".to_owned())
        .await?;
    tokio::spawn(results::answer(
        bus.clone(),
        Arc::clone(&log),
        queries,
        shutdown.clone(),
    ));
    tokio::spawn(answer_questions(
        bus.clone(),
        owner,
        door.clone(),
        log,
        questions,
        shutdown.clone(),
    ));
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            Some(message) = reports.next() => report(&bus, &door, &replies, message).await,
            Some(message) = heartbeats.next() => {
                if let Some(heartbeat) = read::<Heartbeat>(&bus, &message).await {
                    // One that is left out is followed by the next.
                    door.bring_report(Input::Heartbeat(heartbeat));
                }
            }
            Some(message) = changes.next() => {
                if let Some(changed) = read::<JobChanged>(&bus, &message).await {
                    // The sweep finds it as well.
                    door.bring_report(Input::Changed(changed.job_id));
                }
            }
        }
    }
}

async fn report(
    bus: &Bus,
    door: &Door,
    replies: &mpsc::UnboundedSender<(Subject, Bytes)>,
    message: Message,
) {
    let answer = |reply: &ReportReply| {
        if let Some(to) = &message.reply {
            send(replies, to.clone(), reply);
        }
    };
    if message.payload.as_ref() == PING {
        return answer(&ReportReply::Applied);
    }
    let Some(report) = read::<ReportMessage>(bus, &message).await else {
        return answer(&ReportReply::Refused {
            refusal: Refusal::Invalid,
            message: "this is not a report".to_owned(),
        });
    };
    let job = report.job_id;
    let reply = message.reply.clone();
    let report = Box::new(report.into_report());
    if !door.bring_report(Input::Report { job, report, reply }) {
        answer(&ReportReply::Busy {
            retry_after_ms: 100,
        });
    }
}

/// Puts an answer on its way.
pub(super) fn send(
    replies: &mpsc::UnboundedSender<(Subject, Bytes)>,
    to: Subject,
    reply: &ReportReply,
) {
    if let Ok(payload) = serde_json::to_vec(reply) {
        // Closed only when the process ends.
        let _ = replies.send((to, payload.into()));
    }
}

/// A typed message, or a dead letter.
pub(super) async fn read<T: DeserializeOwned>(bus: &Bus, message: &Message) -> Option<T> {
    if message.payload.len() > MESSAGE_BYTES_MAX {
        dead_letter::send(
            bus,
            &message.subject,
            "larger than 512 KB",
            &message.payload,
        )
        .await;
        return None;
    }
    match serde_json::from_slice(&message.payload) {
        Ok(read) => Some(read),
        Err(error) => {
            let reason = error.to_string();
            dead_letter::send(bus, &message.subject, &reason, &message.payload).await;
            None
        }
    }
}

async fn answer_questions(
    bus: Bus,
    owner: OwnerId,
    door: Door,
    log: Arc<dyn Log>,
    mut questions: Subscriber,
    shutdown: CancellationToken,
) {
    loop {
        let message = tokio::select! {
            () = shutdown.cancelled() => return,
            Some(message) = questions.next() => message,
        };
        let Some(question) = read::<WhereIs>(&bus, &message).await else {
            continue;
        };
        let whereabouts = whereabouts(&*log, owner, &door, question.job_id).await;
        if let Some(to) = message.reply {
            bus.hint(to.to_string(), &whereabouts).await;
        }
    }
}

async fn whereabouts(log: &dyn Log, owner: OwnerId, door: &Door, job: JobId) -> Whereabouts {
    match log.open_job(job).await {
        Ok(None) => Whereabouts::Settled,
        Ok(Some(row)) => match row.owner {
            // Given to us, but not on the desk yet.
            Some(other) if other == owner && !door.holds(job).await => {
                // One that is put down comes back when something is due, and not before.
                let retry_after_ms = if row.due_at.is_some() { 2_000 } else { 200 };
                Whereabouts::Wait { retry_after_ms }
            }
            Some(owner) => Whereabouts::Owner { owner },
            None => Whereabouts::Wait {
                retry_after_ms: 500,
            },
        },
        Err(error) => {
            tracing::warn!(%error, "cannot say who owns a job");
            Whereabouts::Wait {
                retry_after_ms: 1_000,
            }
        }
    }
}
