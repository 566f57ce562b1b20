//! How much of each queue is published, and whose turn it is.
//!
//! Only about twice as many tasks are out as workers have places; the rest stays READY with its job.
//! Turns go round the organisations, and within an organisation round its jobs, so that a giant
//! never stands in front of a small job.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::id::JobId;
use domain::message::Heartbeat;
use tokio::time::Instant;

use super::options::WINDOW_MIN;
use super::outstanding::Lane;

/// A worker that was not heard of for so long has no places.
const WORKER_SILENCE: Duration = Duration::from_secs(20);

/// Places that one worker may announce for one queue,
const SLOTS_MAX: u32 = 10_000;
/// and workers that are kept count of.
const WORKERS_MAX: usize = 10_000;

/// The places of one worker, by queue.
type Places = Vec<(Arc<str>, u32)>;

/// The windows of all lanes.
#[derive(Debug)]
pub(super) struct Windows {
    lanes: BTreeMap<Lane, Turns>,
    workers: HashMap<String, (Instant, Places)>,
    slots: HashMap<Arc<str>, u32>,
    owners: u32,
}

/// One lane: how many are out, and who waits.
#[derive(Debug, Default)]
struct Turns {
    out: i64,
    orgs: VecDeque<(Arc<str>, VecDeque<JobId>)>,
    waiting: HashSet<JobId>,
}

impl Windows {
    pub(super) fn new() -> Self {
        Self {
            lanes: BTreeMap::new(),
            workers: HashMap::new(),
            slots: HashMap::new(),
            owners: 1,
        }
    }

    /// The places of a worker, as it announces them.
    pub(super) fn hear(&mut self, heartbeat: &Heartbeat) {
        let slots = heartbeat
            .slots
            .iter()
            .map(|s| (s.queue.as_str().into(), s.slots.min(SLOTS_MAX)));
        let is_new = !self.workers.contains_key(&heartbeat.worker_id);
        if is_new && self.workers.len() >= WORKERS_MAX {
            return;
        }
        if heartbeat.slots.is_empty() {
            self.workers.remove(&heartbeat.worker_id);
        } else {
            let news = (Instant::now(), slots.collect());
            self.workers.insert(heartbeat.worker_id.clone(), news);
        }
        self.count_slots();
    }

    /// Forgets workers that have fallen silent, and notes how many orchestrators share the queues.
    pub(super) fn refresh(&mut self, owners: u32) {
        self.owners = owners.max(1);
        self.workers
            .retain(|_, (heard, _)| heard.elapsed() < WORKER_SILENCE);
        self.count_slots();
    }

    fn count_slots(&mut self) {
        self.slots.clear();
        for (queue, slots) in self.workers.values().flat_map(|(_, slots)| slots) {
            let sum = self.slots.entry(Arc::clone(queue)).or_default();
            *sum = sum.saturating_add(*slots);
        }
    }

    fn limit(&self, lane: &Lane) -> i64 {
        let slots = self.slots.get(&lane.0).copied().unwrap_or(0);
        i64::from((slots.saturating_mul(2) / self.owners).max(WINDOW_MIN))
    }

    /// Tasks went out or came back.
    pub(super) fn count(&mut self, lane: Lane, change: i64) {
        self.lanes.entry(lane).or_default().out += change;
    }

    /// A job has ready work in a lane; it gets its turn when there is room.
    pub(super) fn wait(&mut self, lane: &Lane, org: &Arc<str>, job: JobId) {
        let turns = match self.lanes.get_mut(lane) {
            Some(turns) => turns,
            None => self.lanes.entry(lane.clone()).or_default(),
        };
        if !turns.waiting.insert(job) {
            return;
        }
        match turns.orgs.iter_mut().find(|(name, _)| name == org) {
            Some((_, jobs)) => jobs.push_back(job),
            None => turns
                .orgs
                .push_back((Arc::clone(org), VecDeque::from([job]))),
        }
    }

    /// The next turn: a lane with room, the job whose turn it is, and how much room there is.
    pub(super) fn next(&mut self) -> Option<(Lane, JobId, u32)> {
        let open = self
            .lanes
            .iter()
            .find(|(lane, turns)| !turns.orgs.is_empty() && turns.out < self.limit(lane));
        let (lane, turns) = open?;
        let room = u32::try_from(self.limit(lane) - turns.out).unwrap_or(0);
        let lane = lane.clone();
        let turns = self.lanes.get_mut(&lane)?;
        let (org, mut jobs) = turns.orgs.pop_front()?;
        let job = jobs.pop_front()?;
        turns.waiting.remove(&job);
        if !jobs.is_empty() {
            turns.orgs.push_back((org, jobs));
        }
        Some((lane, job, room))
    }
}
