//! Whole rows of streams that were folded to their end, for the tables that a rebuild fills by COPY.
//!
//! What the statements of `jobs`, `nodes`, `sets`, `results` and `requests` leave in a row after all its changes, in one
//! go.

use std::collections::HashMap;

use domain::failure::{Failure, FailureClass};
use domain::id::NodeId;
use domain::job::NodeStatus;
use sqlx::PgConnection;

use super::copy::Rows;
use super::history;
use super::requests::{Settled, Submitted};
use crate::Error;
use crate::read_models::job::changes::{Changes, Ended, ResultRow};
use crate::read_models::job::row::{Job, JobRow, Node};

const JOBS: &str =
    "copy dag_jobs (job_id, workflow_id, workflow_version, workflow_hash, status, input_params, request_id, org_id,
         priority, origin, owner_id, owner_epoch, paused, result, failure, total_stages, pending, ready, dispatched,
         running, completed, failed, skipped, degraded, created_at, updated_at, completed_at, last_pos)
     from stdin (format binary)";
const NODES: &str =
    "copy dag_node_states (job_id, node_id, parent, child_index, ordinal, stage, kind, status, attempt, epoch,
         lost_runs, handler, queue, worker_id, run_id, branch, skip_reason, skipped_by, dispatched_pos, ready_at,
         dispatched_at, started_at, completed_at, updated_at, last_pos, output, external, error_message, failure,
         checkpoint)
     from stdin (format binary)";
const RESULTS: &str =
    "copy dag_task_results (task_id, job_id, node_id, attempt, status, output, error_message, failure, worker_id,
         run_id, metrics, reported_at, pos)
     from stdin (format binary)";
const REQUESTS: &str =
    "copy requests (request_id, org_id, platform_id, asset_id, refs, workflow_id, workflow_version, inputs, priority,
         callbacks, body_hash, status, job_id, reason, submitted_at, updated_at, last_pos)
     from stdin (format binary)";

/// Rows that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    jobs: Rows,
    nodes: Rows,
    results: Rows,
    history: Rows,
    requests: Rows,
}

impl Filled {
    pub(crate) fn bytes(&self) -> usize {
        self.jobs.len()
            + self.nodes.len()
            + self.results.len()
            + self.history.len()
            + self.requests.len()
    }

    /// A job as it stands, with its nodes and results.
    pub(crate) fn job(&mut self, job: &Job, changes: &Changes) -> Result<(), Error> {
        let ended = changes.ended.first().map(End::of).transpose()?;
        job_row(&mut self.jobs, &job.row);
        history::fill(&mut self.history, &changes.history);
        let job_id = &*job.row.job_id;
        for (id, node) in &job.nodes {
            node_row(&mut self.nodes, job_id, id, node, ended.as_ref());
        }
        for group in &job.groups {
            for child in (0..group.count).map(|index| NodeId::child(&group.name, index)) {
                if !job.nodes.contains_key(&child) {
                    node_row(
                        &mut self.nodes,
                        job_id,
                        &child,
                        &group.child,
                        ended.as_ref(),
                    );
                }
            }
        }
        // The last result of an attempt stands.
        let last: HashMap<&str, &ResultRow> = changes
            .results
            .iter()
            .map(|r| (r.task_id.as_str(), r))
            .collect();
        for result in last.into_values() {
            result_row(&mut self.results, result);
        }
        Ok(())
    }

    /// A request, and what became of it.
    pub(crate) fn request(
        &mut self,
        submitted: &Submitted,
        settled: Option<&Settled>,
    ) -> Result<(), Error> {
        let of = &submitted.submission;
        let version = of
            .workflow_version
            .and_then(|version| i32::try_from(version).ok());
        self.requests
            .row(17)
            .text(&of.request_id.to_string())
            .text(of.org_id.as_str())
            .text(of.platform_id.as_str())
            .maybe_text(of.asset_id.map(|id| id.to_string()).as_deref())
            .json(Some(&serde_json::to_string(&of.refs)?))
            .text(of.workflow_id.as_str())
            .maybe_int(version)
            .json(Some(&serde_json::to_string(&of.inputs)?))
            .text(of.priority.as_str())
            .json(Some(&serde_json::to_string(&of.callbacks)?))
            .text(of.body_hash.as_str())
            .text(settled.map_or("waiting", |settled| settled.status))
            .maybe_text(settled.and_then(|settled| settled.job_id.as_deref()))
            .maybe_text(settled.and_then(|settled| settled.reason.as_deref()))
            .time(submitted.at)
            .time(settled.map_or(submitted.at, |settled| settled.at))
            .bigint(settled.map_or(submitted.pos, |settled| settled.pos));
        Ok(())
    }

    /// Writes everything; the caller commits.
    pub(crate) async fn write(&mut self, db: &mut PgConnection) -> sqlx::Result<()> {
        self.jobs.write(db, JOBS).await?;
        self.nodes.write(db, NODES).await?;
        self.results.write(db, RESULTS).await?;
        history::copy(db, &mut self.history).await?;
        self.requests.write(db, REQUESTS).await
    }

    pub(crate) fn clear(&mut self) {
        for rows in [
            &mut self.jobs,
            &mut self.nodes,
            &mut self.results,
            &mut self.history,
            &mut self.requests,
        ] {
            rows.clear();
        }
    }
}

/// What the end of a job makes of its open nodes.
struct End<'a> {
    by: &'a Ended,
    message: String,
    failure: String,
}

impl<'a> End<'a> {
    fn of(by: &'a Ended) -> Result<Self, Error> {
        let failure = Failure::new(FailureClass::Cancelled, "job_ended", &by.reason);
        Ok(Self {
            by,
            failure: serde_json::to_string(&failure)?,
            message: failure.message,
        })
    }
}

fn job_row(rows: &mut Rows, row: &JobRow) {
    rows.row(28)
        .text(&row.job_id)
        .text(&row.workflow_id)
        .int(row.workflow_version)
        .text(&row.workflow_hash)
        .text(row.status.word())
        .json(Some(row.input_params.as_deref().unwrap_or("{}")))
        .text(&row.request_id)
        .text(&row.org_id)
        .text(&row.priority)
        .json(row.origin.as_deref())
        .maybe_text(row.owner_id.as_deref())
        .maybe_bigint(row.owner_epoch)
        .bool(row.paused)
        .json(row.result.value())
        .json(row.failure.value())
        .int(row.total_stages);
    for count in row.counts {
        rows.int(count);
    }
    rows.bool(row.degraded)
        .time(row.created_at)
        .time(row.updated_at)
        .maybe_time(row.completed_at)
        .bigint(row.last_pos);
}

fn node_row(rows: &mut Rows, job_id: &str, id: &NodeId, node: &Node, ended: Option<&End<'_>>) {
    let waited = matches!(node.status, NodeStatus::Pending | NodeStatus::Ready);
    let at_work = matches!(node.status, NodeStatus::Dispatched | NodeStatus::Running);
    let ended = ended.filter(|_| waited || at_work);
    let skipped = ended.filter(|_| waited);
    let failed = ended.filter(|_| at_work);
    let status = match (skipped, failed) {
        (Some(_), _) => NodeStatus::Skipped,
        (_, Some(_)) => NodeStatus::Failed,
        _ => node.status,
    };
    let place = ended.map(|end| end.by.place);
    rows.row(30)
        .text(job_id)
        .text(&id.to_string())
        .maybe_text(id.child.map(|_| &*id.name))
        .maybe_int(id.child.and_then(|index| i32::try_from(index).ok()))
        .int(node.ordinal)
        .int(node.stage)
        .text(node.kind)
        .text(status.word())
        .int(node.attempt)
        .int(node.epoch)
        .int(node.lost_runs)
        .maybe_text(node.handler.as_deref())
        .maybe_text(node.queue.as_deref())
        .maybe_text(node.worker.as_deref())
        .maybe_uuid(node.run)
        .maybe_int(node.branch)
        .maybe_text(skipped.map(|_| "job_ended").or(node.skip_reason))
        .maybe_text(node.skipped_by.as_deref())
        .maybe_bigint(node.dispatched_pos)
        .maybe_time(node.ready_at)
        .maybe_time(node.dispatched_at)
        .maybe_time(node.started_at)
        .maybe_time(place.map(|place| place.at).or(node.completed_at))
        .time(place.map_or(node.updated_at, |place| place.at))
        .bigint(place.map_or(node.last_pos, |place| place.pos))
        .json(node.output.value())
        .json(node.external.value())
        .maybe_text(
            failed
                .map(|end| end.message.as_str())
                .or_else(|| node.error_message.value()),
        )
        .json(
            failed
                .map(|end| end.failure.as_str())
                .or_else(|| node.failure.value()),
        )
        .json(node.checkpoint.value());
}

fn result_row(rows: &mut Rows, row: &ResultRow) {
    rows.row(13)
        .text(&row.task_id)
        .text(&row.job_id)
        .text(&row.node_id)
        .int(row.attempt)
        .text(row.status.word())
        .json(row.output.as_deref())
        .maybe_text(row.error_message.as_deref())
        .json(row.failure.as_deref())
        .maybe_text(row.worker.as_deref())
        .maybe_uuid(row.run)
        .json(row.metrics.as_deref())
        .time(row.place.at)
        .bigint(row.place.pos);
}
