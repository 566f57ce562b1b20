//! A folded job as bytes: small, because a job may have 100,000 nodes, and the same for the same state.
//!
//! Words that repeat are written once, times and positions as differences. Nothing here lasts: bytes of another fold
//! key are never read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::id::NodeId;
use domain::job::{JobStatus, NodeStatus};
use uuid::Uuid;

use super::bytes::{Bytes, layout};
use crate::read_models::job::changes::Ended;
use crate::read_models::job::past::{Large, Whole};
use crate::read_models::job::row::{Group, Job, JobRow, Node, Patch, Place, kind_word, skip_word};

struct Image {
    version: i64,
    words: Vec<String>,
    job: JobImage,
    groups: Vec<GroupImage>,
    nodes: Vec<NodeImage>,
    ended: Option<(String, i64, i64)>,
}

layout!(Image {
    version,
    words,
    job,
    groups,
    nodes,
    ended,
});

struct JobImage {
    job_id: String,
    workflow_id: String,
    workflow_version: i32,
    workflow_hash: String,
    status: JobStatus,
    input_params: Option<String>,
    request_id: String,
    org_id: String,
    priority: String,
    origin: Option<String>,
    owner_id: Option<String>,
    owner_epoch: Option<i64>,
    paused: bool,
    result: Option<String>,
    failure: Option<String>,
    total_stages: i32,
    counts: [i32; 7],
    degraded: bool,
    created_at: i64,
    updated_at: i64,
    completed_at: Option<i64>,
    last_pos: i64,
}

layout!(JobImage {
    job_id,
    workflow_id,
    workflow_version,
    workflow_hash,
    status,
    input_params,
    request_id,
    org_id,
    priority,
    origin,
    owner_id,
    owner_epoch,
    paused,
    result,
    failure,
    total_stages,
    counts,
    degraded,
    created_at,
    updated_at,
    completed_at,
    last_pos,
});

struct GroupImage {
    count: u32,
    child: NodeImage,
    /// First and last child, and the position.
    reused: Vec<(u32, u32, i64)>,
    /// The times of these positions.
    reused_at: Vec<i64>,
}

layout!(GroupImage {
    count,
    child,
    reused,
    reused_at,
});

/// A word by its number; 0 is none.
type Word = u32;

struct NodeImage {
    name: Word,
    /// 0 is the node itself, n + 1 its child n.
    child: u32,
    ordinal: i32,
    stage: i32,
    kind: Word,
    status: NodeStatus,
    attempt: i32,
    epoch: i32,
    lost_runs: i32,
    handler: Word,
    queue: Word,
    worker: Word,
    run: Option<[u8; 16]>,
    branch: Option<i32>,
    skip_reason: Word,
    skipped_by: Word,
    /// Each time from the one before it that is there.
    times: [Option<i64>; 4],
    updated_at: i64,
    last_pos: i64,
    /// From `last_pos` back: dispatched, output, failure, checkpoint.
    positions: [Option<i64>; 4],
}

layout!(NodeImage {
    name,
    child,
    ordinal,
    stage,
    kind,
    status,
    attempt,
    epoch,
    lost_runs,
    handler,
    queue,
    worker,
    run,
    branch,
    skip_reason,
    skipped_by,
    times,
    updated_at,
    last_pos,
    positions,
});

/// The words of one image.
#[derive(Default)]
struct Words {
    all: Vec<String>,
    numbers: HashMap<String, Word>,
}

impl Words {
    fn number(&mut self, word: Option<&str>) -> Word {
        let Some(word) = word else { return 0 };
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        self.all.push(word.to_owned());
        let number = Word::try_from(self.all.len()).unwrap_or(0);
        self.numbers.insert(word.to_owned(), number);
        number
    }
}

/// Words that are shared by all rows that use them.
struct Shared(Vec<Arc<str>>);

impl Shared {
    fn get(&self, word: Word) -> Option<Arc<str>> {
        let index = usize::try_from(word).ok()?.checked_sub(1)?;
        self.0.get(index).cloned()
    }

    fn text(&self, word: Word) -> Option<String> {
        self.get(word).map(|word| word.to_string())
    }
}

/// The bytes of a job. What it took over from an older one is not among them: the log has it.
pub(super) fn write(whole: &Whole) -> Vec<u8> {
    let mut words = Words::default();
    let row = &whole.job.row;
    let nodes: BTreeMap<&NodeId, &Node> = whole.job.nodes.iter().collect();
    let nodes = nodes.into_iter().map(|(id, node)| {
        let large = whole.large.get(id).copied().unwrap_or_default();
        node_image(id, node, large, &mut words)
    });
    let nodes = nodes.collect();
    let groups = whole.job.groups.iter().map(|group| GroupImage {
        count: group.count,
        child: node_image(
            &NodeId::of(&group.name),
            &group.child,
            Large::default(),
            &mut words,
        ),
        reused: group
            .reused
            .iter()
            .map(|(a, b, place)| (*a, *b, place.pos))
            .collect(),
        reused_at: group.reused.iter().map(|(_, _, p)| micros(p.at)).collect(),
    });
    let groups = groups.collect();
    let job = JobImage {
        job_id: row.job_id.to_string(),
        workflow_id: row.workflow_id.clone(),
        workflow_version: row.workflow_version,
        workflow_hash: row.workflow_hash.clone(),
        status: row.status,
        input_params: row.input_params.clone(),
        request_id: row.request_id.clone(),
        org_id: row.org_id.clone(),
        priority: row.priority.clone(),
        origin: row.origin.clone(),
        owner_id: row.owner_id.clone(),
        owner_epoch: row.owner_epoch,
        paused: row.paused,
        result: row.result.value().map(str::to_owned),
        failure: row.failure.value().map(str::to_owned),
        total_stages: row.total_stages,
        counts: row.counts,
        degraded: row.degraded,
        created_at: micros(row.created_at),
        updated_at: micros(row.updated_at),
        completed_at: row.completed_at.map(micros),
        last_pos: row.last_pos,
    };
    let ended = whole.ended.as_ref();
    let image = Image {
        version: whole.version,
        words: words.all,
        job,
        groups,
        nodes,
        ended: ended.map(|e| (e.reason.clone(), e.place.pos, micros(e.place.at))),
    };
    let mut out = Vec::new();
    image.put(&mut out);
    out
}

fn node_image(id: &NodeId, node: &Node, large: Large, words: &mut Words) -> NodeImage {
    let at = [
        node.ready_at,
        node.dispatched_at,
        node.started_at,
        node.completed_at,
    ];
    let mut before = micros(node.updated_at);
    let times = at.map(|at| {
        let at = micros(at?);
        Some(std::mem::replace(&mut before, at) - at)
    });
    let positions = [
        node.dispatched_pos,
        large.output,
        large.failure,
        large.checkpoint,
    ];
    NodeImage {
        name: words.number(Some(&id.name)),
        child: id.child.map_or(0, |index| index + 1),
        ordinal: node.ordinal,
        stage: node.stage,
        kind: words.number(Some(node.kind)),
        status: node.status,
        attempt: node.attempt,
        epoch: node.epoch,
        lost_runs: node.lost_runs,
        handler: words.number(node.handler.as_deref()),
        queue: words.number(node.queue.as_deref()),
        worker: words.number(node.worker.as_deref()),
        run: node.run.map(Uuid::into_bytes),
        branch: node.branch,
        skip_reason: words.number(node.skip_reason),
        skipped_by: words.number(node.skipped_by.as_deref()),
        times,
        updated_at: micros(node.updated_at),
        last_pos: node.last_pos,
        positions: positions.map(|pos| Some(node.last_pos - pos?)),
    }
}

/// The job of these bytes, or nothing if they make no sense.
pub(super) fn read(mut bytes: &[u8]) -> Option<Whole> {
    let image = Image::take(&mut bytes).filter(|_| bytes.is_empty())?;
    let words = Shared(image.words.into_iter().map(Arc::from).collect());
    let mut job = Job {
        row: job_row(image.job)?,
        nodes: HashMap::with_capacity(image.nodes.len()),
        groups: Vec::with_capacity(image.groups.len()),
        dirty: false,
        touched: 0,
    };
    let mut large = HashMap::with_capacity(image.nodes.len());
    for node in image.nodes {
        let (id, node, of_node) = node_of(&node, &words)?;
        if of_node != Large::default() {
            large.insert(id.clone(), of_node);
        }
        job.nodes.insert(id, node);
    }
    for group in image.groups {
        let (id, child, _) = node_of(&group.child, &words)?;
        let reused = group.reused.into_iter().zip(group.reused_at);
        let reused = reused.map(|((a, b, pos), at)| Some((a, b, Place { pos, at: time(at)? })));
        job.groups.push(Group {
            name: id.name,
            count: group.count,
            child,
            reused: reused.collect::<Option<_>>()?,
        });
    }
    let ended = match image.ended {
        Some((reason, pos, at)) => Some(Ended {
            job_id: job.row.job_id.to_string(),
            reason,
            place: Place { pos, at: time(at)? },
        }),
        None => None,
    };
    Some(Whole::of(job, large, ended, image.version))
}

fn job_row(image: JobImage) -> Option<JobRow> {
    let patch = |value: Option<String>| match value {
        Some(text) => Patch::Set(Some(text)),
        None => Patch::Keep,
    };
    Some(JobRow {
        job_id: image.job_id.into(),
        workflow_id: image.workflow_id,
        workflow_version: image.workflow_version,
        workflow_hash: image.workflow_hash,
        status: image.status,
        input_params: image.input_params,
        request_id: image.request_id,
        org_id: image.org_id,
        priority: image.priority,
        origin: image.origin,
        owner_id: image.owner_id,
        owner_epoch: image.owner_epoch,
        paused: image.paused,
        result: patch(image.result),
        failure: patch(image.failure),
        total_stages: image.total_stages,
        counts: image.counts,
        degraded: image.degraded,
        created_at: time(image.created_at)?,
        updated_at: time(image.updated_at)?,
        completed_at: match image.completed_at {
            Some(at) => Some(time(at)?),
            None => None,
        },
        last_pos: image.last_pos,
    })
}

fn node_of(image: &NodeImage, words: &Shared) -> Option<(NodeId, Node, Large)> {
    let mut before = image.updated_at;
    let mut times = [None; 4];
    for (to, from) in times.iter_mut().zip(image.times) {
        if let Some(back) = from {
            before = before.checked_sub(back)?;
            *to = Some(time(before)?);
        }
    }
    let [ready_at, dispatched_at, started_at, completed_at] = times;
    let place = Place {
        pos: image.last_pos,
        at: time(image.updated_at)?,
    };
    let [dispatched_pos, output, failure, checkpoint] = image
        .positions
        .map(|back| image.last_pos.checked_sub(back?));
    let node = Node {
        ordinal: image.ordinal,
        stage: image.stage,
        kind: kind_word(words.get(image.kind).as_deref().unwrap_or_default()),
        attempt: image.attempt,
        epoch: image.epoch,
        lost_runs: image.lost_runs,
        handler: words.get(image.handler),
        queue: words.get(image.queue),
        worker: words.text(image.worker),
        run: image.run.map(Uuid::from_bytes),
        branch: image.branch,
        skip_reason: words.get(image.skip_reason).map(|word| skip_word(&word)),
        skipped_by: words.text(image.skipped_by),
        dispatched_pos,
        ready_at,
        dispatched_at,
        started_at,
        completed_at,
        ..Node::new(image.status, place)
    };
    let large = Large {
        output,
        failure,
        checkpoint,
        ended: false,
    };
    let id = NodeId {
        name: words.get(image.name)?,
        child: image.child.checked_sub(1),
    };
    Some((id, node, large))
}

fn micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

fn time(micros: i64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_micros(micros)
}

#[cfg(test)]
mod tests;
