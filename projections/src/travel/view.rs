//! A folded job in the types of the live readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::id::NodeId;
use domain::job::NodeStatus;
use serde_json::{Map, Value, json};
use sqlx::PgPool;

use super::Moment;
use super::values::Values;
use crate::Error;
use crate::read::{self, ChildCounts, ChildFilter, Page, TaskResult};
use crate::read_models::job::past::{Seen, Whole};
use crate::read_models::job::row::{Group, Patch, slot};

/// Nodes of one document, at most: with more, it is refused.
pub const DOCUMENT_NODES_MAX: usize = 2_000;

/// A job as it was at some moment. Cheap to clone.
#[derive(Debug, Clone)]
pub struct JobAt {
    pool: PgPool,
    moment: Moment,
    pub(super) whole: Arc<Whole>,
}

impl JobAt {
    pub(super) fn new(pool: PgPool, moment: Moment, whole: Whole) -> Self {
        let whole = Arc::new(whole);
        Self {
            pool,
            moment,
            whole,
        }
    }

    /// The moment that it is of.
    #[must_use]
    pub fn moment(&self) -> Moment {
        self.moment
    }

    /// The job's own row. The heartbeat of its owner is no part of history, and never there.
    #[must_use]
    pub fn row(&self) -> read::Job {
        let row = &self.whole.job.row;
        let count = |status| row.counts.get(slot(status)).copied().unwrap_or_default();
        let value = |patch: &Patch| patch.value().and_then(parsed);
        read::Job {
            job_id: row.job_id.to_string(),
            workflow_id: row.workflow_id.clone(),
            workflow_version: row.workflow_version,
            workflow_hash: row.workflow_hash.clone(),
            status: row.status.word().to_owned(),
            input_params: row
                .input_params
                .as_deref()
                .and_then(parsed)
                .unwrap_or_default(),
            request_id: row.request_id.clone(),
            org_id: row.org_id.clone(),
            priority: row.priority.clone(),
            origin: row.origin.as_deref().and_then(parsed),
            owner_id: row.owner_id.clone(),
            owner_heartbeat_at: None,
            paused: row.paused,
            result: value(&row.result),
            failure: value(&row.failure),
            pending: count(NodeStatus::Pending),
            ready: count(NodeStatus::Ready),
            dispatched: count(NodeStatus::Dispatched),
            running: count(NodeStatus::Running),
            completed: count(NodeStatus::Completed),
            failed: count(NodeStatus::Failed),
            skipped: count(NodeStatus::Skipped),
            degraded: row.degraded,
            created_at: row.created_at,
            updated_at: row.updated_at,
            completed_at: row.completed_at,
            last_pos: row.last_pos,
        }
    }

    /// Its nodes in topological order, without the children of fan-outs.
    pub async fn nodes(&self, limit: i64) -> Result<Vec<read::Node>, Error> {
        let mut rows = self.whole.nodes();
        rows.truncate(usize::try_from(read::limit(limit)).unwrap_or(0));
        self.filled(rows).await
    }

    /// One node, or one child.
    pub async fn node(&self, node_id: &str) -> Result<Option<read::Node>, Error> {
        let row = self.whole.find(&NodeId::from(node_id));
        Ok(self.filled(row.into_iter().collect()).await?.pop())
    }

    /// How many children of a fan-out have each status.
    #[must_use]
    pub fn child_counts(&self, fan_out: &str) -> Option<ChildCounts> {
        let counts = self.whole.child_counts(self.whole.group(fan_out)?);
        let counts = counts.into_iter();
        let counts: BTreeMap<String, i64> = counts
            .map(|(status, n)| (status.word().to_owned(), n))
            .collect();
        Some(counts)
    }

    /// The children of one fan-out, in their order.
    pub async fn children(&self, filter: &ChildFilter) -> Result<Page<read::Node>, Error> {
        let limit = read::limit(filter.limit);
        let after = filter
            .cursor
            .as_deref()
            .map(read::parse_place)
            .transpose()?;
        let first = after.map_or(0, |(_, child)| child.saturating_add(1));
        let first = u32::try_from(first).unwrap_or(0);
        let Some(group) = self.whole.group(&filter.parent) else {
            return Ok(Page::cut(Vec::new(), limit, read::place));
        };
        let fits = |row: &Seen| {
            let wanted = filter.status.as_deref();
            wanted.is_none_or(|word| word == row.node.status.word())
        };
        let rows = children_of(&self.whole, group, first).filter(fits);
        let wanted = usize::try_from(limit).unwrap_or(0) + 1;
        let rows = self.filled(rows.take(wanted).collect()).await?;
        Ok(Page::cut(rows, limit, read::place))
    }

    /// The attempts of one node up to then, the first one first.
    pub async fn attempts(&self, node: &read::Node, each: i64) -> Result<Vec<TaskResult>, Error> {
        let (job, id) = (&node.job_id, &node.node_id);
        let pos = self.moment.pos;
        let mut rows = read::results_upto(&self.pool, job, id, pos, each).await?;
        if let Some(task_id) = &node.task_id
            && !rows.iter().any(|row| row.task_id == *task_id)
        {
            rows.push(TaskResult {
                task_id: task_id.clone(),
                job_id: job.clone(),
                node_id: id.clone(),
                attempt: node.attempt,
                status: node.status.clone(),
                output: None,
                error_message: node.error_message.clone(),
                failure: node.failure.clone(),
                worker_id: node.worker_id.clone(),
                run_id: node.run_id,
                metrics: None,
                reported_at: node.updated_at,
            });
        }
        Ok(rows)
    }

    /// How many nodes and children it had.
    #[must_use]
    pub fn size(&self) -> usize {
        let own = self.whole.job.nodes.keys().filter(|id| id.child.is_none());
        let children = self.whole.job.groups.iter();
        own.count() + children.map(|group| group.count as usize).sum::<usize>()
    }

    /// All of it as one document, `{"job": {...}, "nodes": {"<id>": {...}}}`: what the patches of a difference apply
    /// to. Nothing if it has too many nodes.
    pub async fn document(&self) -> Result<Option<Value>, Error> {
        if self.size() > DOCUMENT_NODES_MAX {
            return Ok(None);
        }
        let mut rows = self.whole.nodes();
        for group in self.whole.groups() {
            rows.extend(children_of(&self.whole, group, 0));
        }
        let mut nodes = Map::new();
        for row in self.filled(rows).await? {
            nodes.insert(row.node_id.clone(), node_value(&row)?);
        }
        Ok(Some(
            json!({"job": job_value(&self.row())?, "nodes": nodes}),
        ))
    }

    /// Rows with their large values, which the log has.
    pub(super) async fn filled(&self, rows: Vec<Seen>) -> Result<Vec<read::Node>, Error> {
        let values = Values::of(&self.pool, &self.whole, &rows).await?;
        let job_id = &self.whole.job.row.job_id;
        Ok(rows
            .into_iter()
            .map(|row| node_row(job_id, row, &values))
            .collect())
    }
}

/// The children of a fan-out from one on.
pub(super) fn children_of<'a>(
    whole: &'a Whole,
    group: &'a Group,
    first: u32,
) -> impl Iterator<Item = Seen> + 'a {
    let ids = (first..group.count).map(|index| NodeId::child(&group.name, index));
    ids.filter_map(|id| whole.find(&id))
}

/// A job as a part of a document. Its position and the time of its last change differ between any two moments, and
/// say nothing.
pub(super) fn job_value(row: &read::Job) -> Result<Value, Error> {
    let mut value = serde_json::to_value(row)?;
    if let Some(fields) = value.as_object_mut() {
        for field in ["org_id", "owner_heartbeat_at", "last_pos", "updated_at"] {
            fields.remove(field);
        }
    }
    Ok(value)
}

/// A node as a part of a document.
pub(super) fn node_value(row: &read::Node) -> Result<Value, Error> {
    let mut value = serde_json::to_value(row)?;
    if let Some(fields) = value.as_object_mut() {
        for field in ["job_id", "node_id", "dispatched_pos", "updated_at"] {
            fields.remove(field);
        }
    }
    Ok(value)
}

fn node_row(job_id: &str, seen: Seen, values: &Values<'_>) -> read::Node {
    let node_id = seen.id.to_string();
    let (output, external) = values.output(&seen).unzip();
    let (error_message, failure) = values.failure(&seen).unzip();
    let checkpoint = values.checkpoint(&seen);
    let Seen { id, node, .. } = seen;
    read::Node {
        task_id: (node.epoch > 0).then(|| format!("{job_id}_{node_id}_{}", node.attempt)),
        job_id: job_id.to_owned(),
        node_id,
        parent: id.child.map(|_| id.name.to_string()),
        child_index: id.child.and_then(|index| i32::try_from(index).ok()),
        ordinal: node.ordinal,
        stage: node.stage,
        kind: node.kind.to_owned(),
        status: node.status.word().to_owned(),
        attempt: node.attempt,
        retry_count: (node.attempt - 1).max(0),
        epoch: node.epoch,
        handler: node.handler.as_deref().map(str::to_owned),
        queue: node.queue.as_deref().map(str::to_owned),
        worker_id: node.worker,
        run_id: node.run,
        output: output.flatten(),
        external: external.flatten(),
        error_message,
        failure,
        checkpoint,
        branch: node.branch,
        skip_reason: node.skip_reason.map(str::to_owned),
        skipped_by: node.skipped_by,
        ready_at: node.ready_at,
        dispatched_at: node.dispatched_at,
        started_at: node.started_at,
        completed_at: node.completed_at,
        updated_at: node.updated_at,
        dispatched_pos: node.dispatched_pos,
    }
}

/// Our own writing.
fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
