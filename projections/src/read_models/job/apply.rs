//! What each event does to the rows of its job. This mirrors `domain::job::apply` and nothing else;
//! `verify` proves it row by row.

use chrono::{DateTime, Utc};
use domain::id::NodeId;
use domain::job::event::{NodeCompleted, NodeDispatched, NodeFailed, SkipReason};
use domain::job::{Event, JobStatus, NodeStatus};
use serde::Serialize;
use serde_json::{Value, json};

use super::changes::{Changes, Ended, ResultRow};
use super::row::{Job, Patch, Place, slot};
use crate::Error;

pub(super) fn text<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    Ok(serde_json::to_string(value)?)
}

/// Applies one event to a job that exists.
pub(super) fn apply(
    job: &mut Job,
    event: &Event,
    place: Place,
    changes: &mut Changes,
) -> Result<(), Error> {
    job.dirty = true;
    job.row.last_pos = place.pos;
    if job.row.status.is_terminal() {
        return Ok(());
    }
    job.row.updated_at = place.at;
    match event {
        Event::JobClaimed { owner, epoch, .. } => {
            job.row.owner_id = Some(owner.to_string());
            job.row.owner_epoch = i64::try_from(*epoch).ok();
        }
        Event::JobStarted => {
            if job.row.status.may_become(JobStatus::Running) {
                job.row.status = JobStatus::Running;
            }
        }
        Event::JobPaused { .. } => job.row.paused = true,
        Event::JobResumed => job.row.paused = false,
        Event::JobCompleted { result } => {
            job.row.result = Patch::Set(Some(text(result)?));
            end(job, JobStatus::Completed, "", place, changes);
        }
        Event::JobFailed { node, failure } => {
            let why = json!({ "node": node, "failure": failure });
            job.row.failure = Patch::Set(Some(text(&why)?));
            end(job, JobStatus::Failed, "the job failed", place, changes);
        }
        Event::JobCancelled { reason } => {
            let why = json!({ "node": null, "reason": reason });
            job.row.failure = Patch::Set(Some(text(&why)?));
            end(job, JobStatus::Cancelled, reason, place, changes);
        }
        _ => apply_to_nodes(job, event, place, changes)?,
    }
    Ok(())
}

/// What waited is skipped, what was at work is failed: in the rows by one statement for all jobs.
fn end(job: &mut Job, status: JobStatus, reason: &str, place: Place, changes: &mut Changes) {
    if !job.row.status.may_become(status) {
        return;
    }
    job.row.status = status;
    job.row.completed_at = Some(place.at);
    let mut take = |status: NodeStatus| std::mem::take(&mut job.row.counts[slot(status)]);
    let waiting = take(NodeStatus::Pending) + take(NodeStatus::Ready);
    let at_work = take(NodeStatus::Dispatched) + take(NodeStatus::Running);
    job.row.counts[slot(NodeStatus::Skipped)] += waiting;
    job.row.counts[slot(NodeStatus::Failed)] += at_work;
    if waiting + at_work > 0 {
        changes.ended.push(Ended {
            job_id: job.row.job_id.to_string(),
            reason: reason.to_owned(),
            place,
        });
    }
}

fn apply_to_nodes(
    job: &mut Job,
    event: &Event,
    place: Place,
    changes: &mut Changes,
) -> Result<(), Error> {
    match event {
        Event::NodesReady { nodes } => nodes.iter().for_each(|id| ready(job, id, place)),
        Event::NodesSkipped {
            nodes,
            reason,
            because,
        } => {
            for id in nodes {
                job.set_status(id, NodeStatus::Skipped, place);
                job.with(id, place, |node| {
                    node.skip_reason = Some(match reason {
                        SkipReason::BranchNotTaken => "branch_not_taken",
                        SkipReason::ConditionFalse => "condition_false",
                    });
                    node.skipped_by = Some(because.to_string());
                });
            }
        }
        Event::NodePassed { node, output } => complete(job, node, output.as_ref(), place)?,
        Event::BranchTaken { node, branch } => {
            complete(job, node, Some(&json!({ "branch": branch })), place)?;
            job.with(node, place, |row| row.branch = i32::try_from(*branch).ok());
        }
        Event::FanOutExpanded { node, items } => job.expand(node, items.count(), place, changes),
        Event::ChildrenReused { node, ranges } => {
            changes.reuse_children(job, node, ranges, place)?;
        }
        Event::NodeReused { node } => {
            let reused = changes.reused_node(&job.row.job_id, node);
            let external = reused.as_ref().and_then(|r| r.external.clone());
            complete(job, node, reused.as_ref().map(|r| &r.output), place)?;
            let external = external.map(|blob| text(&blob)).transpose()?;
            job.with(node, place, |row| row.external = Patch::Set(external));
        }
        _ => apply_to_tasks(job, event, place, changes)?,
    }
    Ok(())
}

fn apply_to_tasks(
    job: &mut Job,
    event: &Event,
    place: Place,
    changes: &mut Changes,
) -> Result<(), Error> {
    match event {
        Event::NodeDispatched(event) => dispatch(job, event, place),
        Event::NodeRedispatched { node, epoch, .. } => job.with(node, place, |row| {
            row.epoch = i32::try_from(*epoch).unwrap_or(i32::MAX);
            row.dispatched_at = Some(place.at);
        }),
        Event::NodeStarted {
            node, run, worker, ..
        } => {
            job.set_status(node, NodeStatus::Running, place);
            job.with(node, place, |row| {
                row.run = Some(run.0);
                row.worker = Some(worker.clone());
                row.started_at = Some(place.at);
            });
        }
        Event::CheckpointSaved {
            node, checkpoint, ..
        } => {
            let saved = text(checkpoint)?;
            job.with(node, place, |row| row.checkpoint = Patch::Set(Some(saved)));
        }
        Event::NodeCompleted(event) => finish(job, event, place, changes)?,
        Event::NodeFailed(event) => fail(job, event, place, changes)?,
        Event::RunLost { node, .. } => end_run(job, node, 1, place),
        Event::RunReleased { node, .. } => end_run(job, node, 0, place),
        _ => {}
    }
    Ok(())
}

/// A run ended without a result; `lost` counts it.
fn end_run(job: &mut Job, node: &NodeId, lost: i32, place: Place) {
    job.set_status(node, NodeStatus::Ready, place);
    job.with(node, place, |row| {
        row.run = None;
        row.lost_runs += lost;
    });
}

fn ready(job: &mut Job, id: &NodeId, place: Place) {
    let is_retry = job
        .find(id)
        .is_some_and(|node| node.status == NodeStatus::Failed);
    job.set_status(id, NodeStatus::Ready, place);
    if is_retry {
        job.with(id, place, |node| {
            node.attempt += 1;
            node.epoch = 0;
            node.lost_runs = 0;
            node.run = None;
        });
    }
}

/// The engine did the work, or it was taken over.
fn complete(job: &mut Job, id: &NodeId, output: Option<&Value>, place: Place) -> Result<(), Error> {
    let output = output.map(text).transpose()?;
    job.set_status(id, NodeStatus::Completed, place);
    job.with(id, place, |node| node.output = Patch::Set(output));
    Ok(())
}

fn dispatch(job: &mut Job, event: &NodeDispatched, place: Place) {
    job.set_status(&event.node, NodeStatus::Dispatched, place);
    job.with(&event.node, place, |node| {
        node.attempt = i32::try_from(event.attempt).unwrap_or(i32::MAX);
        node.epoch = i32::try_from(event.epoch).unwrap_or(i32::MAX);
        node.dispatched_pos = Some(place.pos);
        node.dispatched_at = Some(place.at);
        if node.handler.as_deref() != Some(event.handler.as_str()) {
            node.handler = Some(event.handler.as_str().into());
        }
        if node.queue.as_deref() != Some(event.queue.as_str()) {
            node.queue = Some(event.queue.as_str().into());
        }
    });
}

fn finish(
    job: &mut Job,
    event: &NodeCompleted,
    place: Place,
    changes: &mut Changes,
) -> Result<(), Error> {
    let output = text(&event.output)?;
    let external = event.external.as_ref().map(text).transpose()?;
    let metrics = (!event.metrics.is_empty())
        .then(|| text(&event.metrics))
        .transpose()?;
    if job.find(&event.node).is_none() {
        return Ok(());
    }
    job.set_status(&event.node, NodeStatus::Completed, place);
    changes.results.push(ResultRow {
        status: NodeStatus::Completed,
        output: Some(output.clone()),
        error_message: None,
        failure: None,
        worker: Some(event.worker.clone()),
        run: Some(event.run.0),
        metrics,
        ..ResultRow::of(&job.row.job_id, &event.node, event.attempt, place)
    });
    job.with(&event.node, place, |node| {
        node.run = Some(event.run.0);
        node.worker = Some(event.worker.clone());
        node.output = Patch::Set(Some(output));
        node.external = Patch::Set(external);
        node.failure = Patch::Set(None);
        node.error_message = Patch::Set(None);
        if event.node.child.is_some() {
            node.checkpoint = Patch::Set(None);
        }
    });
    Ok(())
}

fn fail(
    job: &mut Job,
    event: &NodeFailed,
    place: Place,
    changes: &mut Changes,
) -> Result<(), Error> {
    let failure = text(&event.failure)?;
    let Some(worker) = job.find(&event.node).map(|node| node.worker.clone()) else {
        return Ok(());
    };
    job.set_status(&event.node, NodeStatus::Failed, place);
    changes.results.push(ResultRow {
        status: NodeStatus::Failed,
        output: None,
        error_message: Some(event.failure.message.clone()),
        failure: Some(failure.clone()),
        worker: worker.filter(|_| event.run.is_some()),
        run: event.run.map(|run| run.0),
        metrics: None,
        ..ResultRow::of(&job.row.job_id, &event.node, event.attempt, place)
    });
    job.with(&event.node, place, |node| {
        node.run = event.run.map(|run| run.0);
        node.error_message = Patch::Set(Some(event.failure.message.clone()));
        node.failure = Patch::Set(Some(failure));
    });
    Ok(())
}

/// Which of its times a status sets.
pub(super) fn stamp(node: &mut super::row::Node, status: NodeStatus, at: DateTime<Utc>) {
    match status {
        NodeStatus::Pending => {}
        NodeStatus::Ready => {
            node.ready_at = Some(at);
            node.dispatched_at = None;
            node.started_at = None;
            node.completed_at = None;
        }
        NodeStatus::Dispatched => node.dispatched_at = Some(at),
        NodeStatus::Running => node.started_at = Some(at),
        NodeStatus::Completed | NodeStatus::Failed | NodeStatus::Skipped => {
            node.completed_at = Some(at);
        }
    }
}
