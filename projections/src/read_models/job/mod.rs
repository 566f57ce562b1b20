//! Jobs, their nodes and the results of their tasks.
//!
//! Rows that a batch touches are loaded (or still in memory), folded event by event, and written
//! back once. What concerns many rows at once (children of a fan-out, the end of a job) is written
//! by statements over sets. Their order inside one transaction is fixed and right for any batch:
//! jobs, new children, reused children, rows in memory, ends of jobs. An end comes last because
//! nothing changes a job after it.

mod apply;
pub(crate) mod changes;
pub(crate) mod past;
pub(crate) mod row;
pub(crate) mod whole;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::definition::Graph;
use domain::id::NodeId;
use domain::job::event::JobCreated;
use domain::job::{Event, JobStatus, NodeStatus};
use sqlx::PgConnection;

use self::apply::text;
use self::changes::{Changes, TakenOver};
use self::row::{Job, JobRow, Node, Patch, Place, slot};
use super::graphs::Graphs;
use crate::Error;
use crate::store::history::{self, HistoryRow};
use crate::store::log::Entry;
use crate::store::{jobs, log, nodes, results, sets};

/// Rows of nodes that stay in memory between batches, at most.
const NODES_KEPT_MAX: usize = 200_000;

/// The beginning of the names of job streams.
pub(crate) const STREAM: &str = "job:";

/// The jobs that were touched lately, and what the current batch does.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: HashMap<Arc<str>, Job>,
    changes: Changes,
    batch: u64,
}

/// Why an event cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("the stream does not begin with `job_created`")]
    NoJob,
    #[error("workflow {id} version {version} cannot be used: {reason}")]
    Workflow {
        id: String,
        version: u32,
        reason: String,
    },
    #[error(transparent)]
    Value(#[from] Error),
}

impl Jobs {
    /// Loads what the events of a batch are about and what is not in memory.
    pub(super) async fn prepare(
        &mut self,
        db: &mut PgConnection,
        events: &[(&Entry, &Event)],
    ) -> Result<(), Error> {
        self.batch += 1;
        let wanted = Wanted::by(&self.jobs, events);
        for row in jobs::load(db, &wanted.jobs).await? {
            let job_id = Arc::clone(&row.job_id);
            self.jobs.insert(job_id, Job::new(row));
        }
        for (job_id, id, node) in nodes::load(db, &wanted.nodes).await? {
            if let Some(job) = self.jobs.get_mut(job_id.as_str()) {
                job.nodes.entry(id).or_insert(node);
            }
        }
        for entry in log::reuse_events(db, &wanted.reuse).await? {
            if let Some(job_id) = entry.stream_id.strip_prefix(STREAM)
                && let Ok(domain::event::Event::Job(Event::OutputsReused { nodes, children })) =
                    entry.decode()
            {
                let taken_over = TakenOver { nodes, children };
                self.changes.taken_over.insert(job_id.into(), taken_over);
            }
        }
        Ok(())
    }

    /// Folds one event into the rows in memory.
    pub(super) fn apply(
        &mut self,
        entry: &Entry,
        event: &Event,
        graphs: &Graphs,
    ) -> Result<(), Unfit> {
        let place = Place {
            pos: entry.pos,
            at: entry.recorded_at,
        };
        let job_id = entry.stream_id.strip_prefix(STREAM).unwrap_or_default();
        if let Some(job) = self.jobs.get_mut(job_id) {
            job.touched = self.batch;
            return Ok(self.changes.apply(job, event, place)?);
        }
        let Event::JobCreated(created) = event else {
            return Err(Unfit::NoJob);
        };
        let mut job = new_job(job_id, &entry.org_id, created, place)?;
        job.touched = self.batch;
        let fits = begin(&mut job, created, graphs, place);
        job.row.degraded = fits.is_err();
        let row = HistoryRow::of(&job.row, place, true);
        self.changes.history.push(row);
        self.jobs.insert(Arc::clone(&job.row.job_id), job);
        fits
    }

    /// Its stream will not be followed any further.
    pub(super) fn degrade(&mut self, stream_id: &str) {
        let job_id = stream_id.strip_prefix(STREAM).unwrap_or_default();
        if let Some(job) = self.jobs.get_mut(job_id) {
            job.row.degraded = true;
            job.dirty = true;
        }
    }

    /// Writes the batch.
    pub(super) async fn flush(&mut self, db: &mut PgConnection) -> Result<(), Error> {
        let changes = std::mem::take(&mut self.changes);
        let dirty = || self.jobs.values().filter(|job| job.dirty);
        jobs::upsert(db, &dirty().map(|job| &job.row).collect::<Vec<_>>()).await?;
        sets::expand(db, &changes.expansions).await?;
        sets::reuse(db, &changes.reuses).await?;
        let rows: Vec<(&str, &NodeId, &Node)> = dirty()
            .flat_map(|job| {
                let written = job.nodes.iter().filter(|(_, node)| node.dirty);
                written.map(|(id, node)| (&*job.row.job_id, id, node))
            })
            .collect();
        nodes::write(db, &rows).await?;
        results::upsert(db, &changes.results).await?;
        sets::end(db, &changes.ended).await?;
        history::add(db, &changes.history).await?;
        self.settle();
        Ok(())
    }

    /// Forgets ended jobs, and those that were not touched for long if there are too many.
    fn settle(&mut self) {
        self.jobs.retain(|_, job| !job.row.status.is_terminal());
        let mut kept = 0;
        for job in self.jobs.values_mut().filter(|job| job.dirty) {
            job.dirty = false;
            job.row.input_params = None;
            job.row.result = Patch::Keep;
            job.row.failure = Patch::Keep;
            job.groups.clear();
            job.nodes.values_mut().for_each(Node::settle);
        }
        let mut ages: Vec<(u64, usize)> = Vec::with_capacity(self.jobs.len());
        for job in self.jobs.values() {
            kept += job.nodes.len() + 1;
            ages.push((job.touched, job.nodes.len() + 1));
        }
        if kept <= NODES_KEPT_MAX {
            return;
        }
        ages.sort_unstable();
        let mut oldest = 0;
        for (touched, size) in ages {
            if kept <= NODES_KEPT_MAX / 2 {
                break;
            }
            kept -= size;
            oldest = touched + 1;
        }
        self.jobs.retain(|_, job| job.touched >= oldest);
    }
}

impl Job {
    fn new(row: JobRow) -> Self {
        Self {
            row,
            nodes: HashMap::new(),
            groups: Vec::new(),
            dirty: false,
            touched: 0,
        }
    }
}

fn new_job(job_id: &str, org_id: &str, created: &JobCreated, place: Place) -> Result<Job, Error> {
    let mut job = Job::new(JobRow {
        job_id: job_id.into(),
        workflow_id: created.workflow.id.clone(),
        workflow_version: i32::try_from(created.workflow.version).unwrap_or(i32::MAX),
        workflow_hash: created.workflow.hash.clone(),
        status: JobStatus::Pending,
        input_params: Some(text(&created.inputs)?),
        request_id: created.request_id.to_string(),
        org_id: org_id.to_owned(),
        priority: created.priority.as_str().to_owned(),
        origin: created.origin.as_ref().map(text).transpose()?,
        owner_id: None,
        owner_epoch: None,
        paused: false,
        result: Patch::Keep,
        failure: Patch::Keep,
        total_stages: 0,
        counts: [0; NodeStatus::ALL.len()],
        degraded: false,
        created_at: place.at,
        updated_at: place.at,
        completed_at: None,
        last_pos: place.pos,
    });
    job.dirty = true;
    Ok(job)
}

/// Gives a new job the nodes of its workflow.
fn begin(job: &mut Job, created: &JobCreated, graphs: &Graphs, place: Place) -> Result<(), Unfit> {
    let workflow = graphs.get(&created.workflow.hash);
    let workflow = workflow.map_err(|reason| Unfit::Workflow {
        id: created.workflow.id.clone(),
        version: created.workflow.version,
        reason,
    })?;
    add_nodes(job, &workflow.graph, &workflow.stages, place);
    Ok(())
}

fn add_nodes(job: &mut Job, graph: &Graph, stages: &[i32], place: Place) {
    for ((node, stage), ordinal) in graph.nodes.iter().zip(stages).zip(0..) {
        let task = node.kind.task();
        let row = Node {
            ordinal,
            stage: *stage,
            kind: node.kind.word(),
            handler: task.map(|t| Arc::clone(&t.handler)),
            queue: task.map(|t| Arc::clone(&t.queue)),
            dirty: true,
            fresh: true,
            ..Node::new(NodeStatus::Pending, place)
        };
        job.nodes.insert(NodeId::of(&node.name), row);
        job.row.total_stages = job.row.total_stages.max(*stage);
    }
    job.row.counts[slot(NodeStatus::Pending)] =
        i32::try_from(graph.nodes.len()).unwrap_or(i32::MAX);
}

/// What a batch needs from the database.
#[derive(Default)]
struct Wanted {
    jobs: Vec<String>,
    nodes: Vec<(String, String)>,
    reuse: Vec<String>,
}

impl Wanted {
    fn by(known: &HashMap<Arc<str>, Job>, events: &[(&Entry, &Event)]) -> Self {
        let mut wanted = Self::default();
        // Streams that begin in this batch, and fan-outs that are expanded in it.
        let mut new: HashSet<&str> = HashSet::new();
        let mut expanded: HashSet<(&str, &Arc<str>)> = HashSet::new();
        let mut seen_jobs: HashSet<&str> = HashSet::new();
        let mut seen_nodes: HashSet<(&str, &NodeId)> = HashSet::new();
        for (entry, event) in events {
            let job_id = entry.stream_id.strip_prefix(STREAM).unwrap_or_default();
            let job = known.get(job_id);
            if entry.version == 1 {
                new.insert(job_id);
            } else if job.is_none() && !new.contains(job_id) && seen_jobs.insert(job_id) {
                wanted.jobs.push(job_id.to_owned());
            }
            if matches!(
                event,
                Event::NodeReused { .. } | Event::ChildrenReused { .. }
            ) && wanted.reuse.last() != Some(&entry.stream_id)
            {
                wanted.reuse.push(entry.stream_id.clone());
            }
            if new.contains(job_id) {
                continue;
            }
            for_each_node(event, |id| {
                let cached = job.is_some_and(|job| job.nodes.contains_key(id));
                let unwritten = id.child.is_some() && expanded.contains(&(job_id, &id.name));
                if !cached && !unwritten && seen_nodes.insert((job_id, id)) {
                    wanted.nodes.push((job_id.to_owned(), id.to_string()));
                }
            });
            if let Event::FanOutExpanded { node, .. } = event {
                expanded.insert((job_id, &node.name));
            }
        }
        wanted
    }
}

/// The nodes whose rows an event changes one by one.
fn for_each_node<'a>(event: &'a Event, mut visit: impl FnMut(&'a NodeId)) {
    match event {
        Event::NodesReady { nodes } | Event::NodesSkipped { nodes, .. } => {
            nodes.iter().for_each(visit);
        }
        Event::NodePassed { node, .. }
        | Event::BranchTaken { node, .. }
        | Event::FanOutExpanded { node, .. }
        | Event::ChildrenReused { node, .. }
        | Event::NodeReused { node }
        | Event::NodeRedispatched { node, .. }
        | Event::NodeStarted { node, .. }
        | Event::CheckpointSaved { node, .. }
        | Event::RunLost { node, .. }
        | Event::RunReleased { node, .. } => visit(node),
        Event::NodeDispatched(event) => visit(&event.node),
        Event::NodeCompleted(event) => visit(&event.node),
        Event::NodeFailed(event) => visit(&event.node),
        _ => {}
    }
}
