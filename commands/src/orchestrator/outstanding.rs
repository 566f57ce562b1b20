//! Tasks that are out: published or running. Bounded by the windows, so their messages can be kept.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use domain::id::{JobId, NodeId, RunId};
use domain::job::Event;
use domain::job::event::NodeDispatched;
use domain::message::Sending;
use domain::priority::Priority;
use tokio::time::Instant;

/// A queue and a priority.
pub(super) type Lane = (Arc<str>, Priority);

/// One task that is out.
#[derive(Debug)]
pub(super) struct Out {
    /// What its message is made of, with the latest epoch.
    pub(super) dispatched: Box<NodeDispatched>,
    pub(super) lane: Lane,
    pub(super) run: Option<RunId>,
    /// Who runs it.
    pub(super) worker: String,
    /// Where its message lies in the stream, once that is known.
    pub(super) seq: Option<u64>,
    /// When it went out, or was last looked for.
    pub(super) since: Instant,
}

/// The tasks of one job that are out.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    tasks: HashMap<NodeId, Out>,
}

/// What an event changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Tasks that went out, and tasks that came back, by lane.
    pub(super) lanes: BTreeMap<Lane, i64>,
    pub(super) began: Vec<Began>,
    pub(super) ended: Vec<RunId>,
}

/// A worker has begun to run a task.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Began {
    pub(super) node: NodeId,
    pub(super) attempt: u32,
    pub(super) epoch: u32,
    pub(super) run: RunId,
    pub(super) worker: String,
}

impl Outstanding {
    pub(super) fn get(&self, node: &NodeId) -> Option<&Out> {
        self.tasks.get(node)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The message of a sending lies here.
    pub(super) fn place(&mut self, sending: &Sending, seq: u64) {
        if let Some(out) = self.tasks.get_mut(&sending.node_id)
            && (out.dispatched.attempt, out.dispatched.epoch) == (sending.attempt, sending.epoch)
        {
            out.seq = Some(seq);
        }
    }

    /// Messages that nobody has taken for `patience`, with their places: at most `most` of them, each
    /// again only after the same time.
    pub(super) fn overdue(
        &mut self,
        job_id: JobId,
        patience: Duration,
        most: usize,
    ) -> Vec<(Sending, u64)> {
        let waiting = self.tasks.iter_mut().filter_map(|(node_id, out)| {
            let seq = out.seq.filter(|_| out.run.is_none())?;
            if out.since.elapsed() < patience {
                return None;
            }
            out.since = Instant::now();
            let sending = Sending {
                job_id,
                node_id: node_id.clone(),
                attempt: out.dispatched.attempt,
                epoch: out.dispatched.epoch,
            };
            Some((sending, seq))
        });
        waiting.take(most).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&NodeId, &Out)> {
        self.tasks.iter()
    }

    /// Follows an event, and notes in `changed` what it means for windows and runs.
    pub(super) fn follow(&mut self, event: &Event, changed: &mut Changed) {
        match event {
            Event::NodeDispatched(dispatched) => {
                self.remove(&dispatched.node, changed);
                let lane = (Arc::from(dispatched.queue.as_str()), dispatched.priority);
                *changed.lanes.entry(lane.clone()).or_default() += 1;
                let out = Out {
                    dispatched: dispatched.clone(),
                    lane,
                    run: None,
                    worker: String::new(),
                    seq: None,
                    since: Instant::now(),
                };
                self.tasks.insert(dispatched.node.clone(), out);
            }
            Event::NodeRedispatched { node, epoch, .. } => {
                if let Some(out) = self.tasks.get_mut(node) {
                    out.dispatched.epoch = *epoch;
                    out.seq = None;
                    out.since = Instant::now();
                    changed.ended.extend(out.run.take());
                }
            }
            Event::NodeStarted {
                node,
                attempt,
                epoch,
                run,
                worker,
                ..
            } => {
                if let Some(out) = self.tasks.get_mut(node) {
                    changed.ended.extend(out.run.replace(*run));
                    out.worker.clone_from(worker);
                    changed.began.push(Began {
                        node: node.clone(),
                        attempt: *attempt,
                        epoch: *epoch,
                        run: *run,
                        worker: worker.clone(),
                    });
                }
            }
            Event::NodeCompleted(completed) => self.remove(&completed.node, changed),
            Event::NodeFailed(failed) => self.remove(&failed.node, changed),
            Event::RunLost { node, .. } | Event::RunReleased { node, .. } => {
                self.remove(node, changed);
            }
            Event::JobCompleted { .. } | Event::JobFailed { .. } | Event::JobCancelled { .. } => {
                self.clear(changed);
            }
            _ => {}
        }
    }

    /// Counts everything that is out, for a job that has just come to the desk.
    pub(super) fn recount(&self, changed: &mut Changed) {
        for out in self.tasks.values() {
            *changed.lanes.entry(out.lane.clone()).or_default() += 1;
        }
    }

    /// The job is no longer ours, or has ended.
    pub(super) fn clear(&mut self, changed: &mut Changed) {
        let nodes: Vec<NodeId> = self.tasks.keys().cloned().collect();
        nodes.iter().for_each(|node| self.remove(node, changed));
    }

    fn remove(&mut self, node: &NodeId, changed: &mut Changed) {
        if let Some(out) = self.tasks.remove(node) {
            *changed.lanes.entry(out.lane).or_default() -= 1;
            changed.ended.extend(out.run);
        }
    }
}
