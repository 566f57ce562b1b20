//! The desk: the one task that owns all jobs of this process. Inputs come through its door; what it
//! decides goes to the appender, and takes effect when it is committed.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};
use domain::id::{JobId, NodeId, RunId};
use domain::job::command::Report;
use domain::job::{Command, Context};
use domain::message::ReportReply;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::door::{Door, Input};
use super::effects::Effects;
use super::hearing::Hearing;
use super::held::{Held, Trouble};
use super::options::{Options, TURN};
use super::outstanding::{Changed, Lane};
use super::reports::ReplyTo;
use super::window::Windows;
use crate::write::Writer;

/// Inputs that are looked at together, so that one append takes what many of them decide.
const ROUND: usize = 512;
/// A job with so much undecided takes no more work until some of it is committed.
const OUTBOX_MAX: usize = 1_000;
/// Ended jobs that are remembered, to stop runs that have not heard of it.
const ENDED_MAX: usize = 10_000;

/// A run that a worker has begun and the log knows.
pub(super) struct Run {
    pub(super) job: JobId,
    pub(super) node: NodeId,
    pub(super) attempt: u32,
    pub(super) epoch: u32,
    pub(super) worker: String,
    pub(super) heard: Instant,
}

/// All jobs of this process.
pub(super) struct Desk {
    pub(super) writer: Writer,
    pub(super) options: Options,
    pub(super) effects: Effects,
    pub(super) door: Door,
    pub(super) jobs: HashMap<JobId, Held>,
    pub(super) nodes: usize,
    pub(super) windows: Windows,
    pub(super) runs: HashMap<RunId, Run>,
    pub(super) ended: VecDeque<JobId>,
    pub(super) ended_set: HashSet<JobId>,
    /// Own jobs that are put down: nothing of them runs.
    pub(super) asleep: HashSet<JobId>,
    pub(super) hearing: Hearing,
    /// When the lease was last renewed.
    pub(super) renewed: Instant,
    lives: u64,
    timers: BTreeSet<(DateTime<Utc>, JobId)>,
    dirty: HashSet<JobId>,
}

impl Desk {
    pub(super) fn new(writer: Writer, options: Options, effects: Effects, door: Door) -> Self {
        Self {
            writer,
            options,
            effects,
            door,
            jobs: HashMap::new(),
            nodes: 0,
            windows: Windows::new(),
            runs: HashMap::new(),
            ended: VecDeque::new(),
            ended_set: HashSet::new(),
            asleep: HashSet::new(),
            hearing: Hearing::new(),
            renewed: Instant::now(),
            lives: 0,
            timers: BTreeSet::new(),
            dirty: HashSet::new(),
        }
    }

    /// Works until `stop`, and then until nothing is in flight.
    pub(super) async fn run(
        mut self,
        mut reports: mpsc::Receiver<Input>,
        mut inner: mpsc::UnboundedReceiver<Input>,
        stop: tokio_util::sync::CancellationToken,
    ) {
        let mut round = Vec::with_capacity(ROUND);
        let mut look = tokio::time::interval(std::time::Duration::from_secs(1));
        loop {
            let stopping = stop.is_cancelled();
            if stopping && self.jobs.values().all(Held::is_committed) {
                return;
            }
            let due = self
                .timers
                .first()
                .map(|(at, _)| self.writer.clock.instant_of(*at));
            let due = due.unwrap_or_else(|| Instant::now() + std::time::Duration::from_secs(3600));
            tokio::select! {
                biased;
                input = inner.recv() => match input {
                    Some(input) => round.push(input),
                    None => return,
                },
                input = reports.recv(), if !stopping => round.extend(input),
                () = tokio::time::sleep_until(due), if !stopping => self.fire(),
                _ = look.tick() => if !stopping { self.look() },
                // Whatever is here has harmed nobody.
                () = stop.cancelled(), if !stopping => self.settle(std::time::Duration::ZERO),
            }
            // Both doors are looked at in every round, so that neither starves the other.
            while round.len() < ROUND {
                let Ok(input) = inner.try_recv() else { break };
                round.push(input);
            }
            while !stopping && round.len() < 2 * ROUND {
                let Ok(input) = reports.try_recv() else { break };
                round.push(input);
            }
            for input in round.drain(..) {
                self.take(input);
            }
            if !stopping {
                self.dispatch();
            }
            self.flush();
        }
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Report { job, report, reply } => self.report(job, report, reply),
            Input::Heartbeat(heartbeat) => self.heartbeat(&heartbeat),
            Input::New(held, create) => self.create(*held, create),
            Input::Loaded(held) => self.adopt(*held),
            Input::Appended { job, life, result } if self.lives_on(job, life) => {
                self.appended(job, result);
            }
            Input::Tail { job, life, result } if self.lives_on(job, life) => self.tail(job, result),
            Input::Appended { .. } | Input::Tail { .. } => {}
            Input::Changed(job) => self.read_on(job),
            Input::Notice(notice) => self.notice(notice),
            Input::Sweep => self.sweep(),
            Input::Owned(rows, soon, answer) => {
                let _ = answer.send(self.compare(&rows, soon));
            }
            Input::Owners(count) => {
                self.renewed = Instant::now();
                self.windows.refresh(count);
            }
            Input::Hears => self.hearing.heard(self.options.run_silence / 2),
            Input::Load(answer) => {
                let _ = answer.send((self.jobs.len(), self.nodes));
            }
            Input::Holds(job, answer) => {
                let _ = answer.send(self.jobs.contains_key(&job));
            }
        }
    }

    /// Puts a job on the desk.
    pub(super) fn hold(&mut self, mut held: Held) {
        self.lives += 1;
        held.life = self.lives;
        self.asleep.remove(&held.job_id);
        self.jobs.insert(held.job_id, held);
    }

    /// Whether an answer is for the job as it lies here, and not for an earlier stay of it.
    fn lives_on(&self, job: JobId, life: u64) -> bool {
        self.jobs.get(&job).is_some_and(|held| held.life == life)
    }

    /// Decides a command for a job and takes care of everything that follows at once.
    pub(super) fn decide(&mut self, job: JobId, command: Command) -> Result<bool, Trouble> {
        let Some(held) = self.jobs.get_mut(&job) else {
            return Ok(false);
        };
        let ctx = Context {
            now: self.writer.clock.now(),
            fence: Some(held.fence),
            policy: self.options.policy.clone(),
        };
        let mut changed = Changed::default();
        let decided = held.handle(command, &ctx, &mut changed);
        self.apply(job, changed);
        if let Err(Trouble::Panicked(text)) = &decided {
            self.poisoned(job, text);
            return decided;
        }
        self.touch(job);
        decided
    }

    /// Windows and runs follow what was decided.
    pub(super) fn apply(&mut self, job: JobId, changed: Changed) {
        for (lane, change) in changed.lanes {
            self.windows.count(lane, change);
        }
        for run in changed.ended {
            self.runs.remove(&run);
        }
        for began in changed.began {
            let run = Run {
                job,
                node: began.node,
                attempt: began.attempt,
                epoch: began.epoch,
                worker: began.worker,
                heard: Instant::now(),
            };
            self.runs.insert(began.run, run);
        }
    }

    /// After any change: timers, turns, and the next append.
    pub(super) fn touch(&mut self, job: JobId) {
        let Some(held) = self.jobs.get_mut(&job) else {
            return;
        };
        let due = held.state.next_due();
        if due != held.timer {
            if let Some(old) = held.timer {
                self.timers.remove(&(old, job));
            }
            if let Some(new) = due {
                self.timers.insert((new, job));
            }
            held.timer = due;
        }
        let weight = held.weight();
        self.nodes = (self.nodes + weight).saturating_sub(held.counted);
        held.counted = weight;
        if held.outbox.len() < OUTBOX_MAX {
            for (queue, priority) in held.state.ready_lanes() {
                let lane: Lane = (queue.clone(), priority);
                self.windows.wait(&lane, &held.org_id, job);
            }
        }
        if !held.outbox.is_empty() {
            self.dirty.insert(job);
        }
    }

    /// Hands out what there is room for, turn by turn.
    fn dispatch(&mut self) {
        while let Some((lane, job, room)) = self.windows.next() {
            let mut window = domain::job::command::Window::default();
            window.slots.insert(lane, room.min(TURN));
            // A job that has nothing to dispatch after all waits until something happens to it.
            if let Err(trouble) = self.decide_dispatch(job, window) {
                tracing::debug!(%job, ?trouble, "nothing was dispatched");
            }
        }
    }

    fn decide_dispatch(
        &mut self,
        job: JobId,
        window: domain::job::command::Window,
    ) -> Result<(), Trouble> {
        let Some(held) = self.jobs.get_mut(&job) else {
            return Ok(());
        };
        let ctx = Context {
            now: self.writer.clock.now(),
            fence: Some(held.fence),
            policy: self.options.policy.clone(),
        };
        let mut changed = Changed::default();
        let any = held.handle(Command::Dispatch(window), &ctx, &mut changed);
        self.apply(job, changed);
        match any {
            Ok(true) => self.touch(job),
            Ok(false) => {}
            Err(Trouble::Panicked(text)) => self.poisoned(job, &text),
            Err(trouble) => return Err(trouble),
        }
        Ok(())
    }

    fn fire(&mut self) {
        let now = self.writer.clock.now();
        let due: Vec<_> = self.timers.range(..=(now, max_job())).copied().collect();
        for (at, job) in due {
            if let Err(trouble) = self.decide(job, Command::TimePassed) {
                tracing::debug!(%job, ?trouble, "a timer had nothing to do");
            }
            // A timer that stays due must not turn the desk into a mill.
            if let Some(held) = self.jobs.get_mut(&job)
                && held.timer == Some(at)
            {
                let later = now + TimeDelta::milliseconds(100);
                self.timers.remove(&(at, job));
                self.timers.insert((later, job));
                held.timer = Some(later);
            } else if !self.jobs.contains_key(&job) {
                self.timers.remove(&(at, job));
            }
        }
    }

    fn report(&mut self, job: JobId, report: Box<Report>, reply: ReplyTo) {
        if !self.jobs.contains_key(&job) {
            let answer = if self.ended_set.contains(&job) {
                super::effects::superseded("the job has ended")
            } else {
                ReportReply::NotMine
            };
            return self.effects.answer(reply, &answer);
        }
        let answer = match self.decide(job, Command::Report(report)) {
            Ok(_) => ReportReply::Applied,
            Err(Trouble::Rejected(rejection)) => ReportReply::from(&rejection),
            Err(Trouble::Panicked(_)) => ReportReply::Busy {
                retry_after_ms: 1_000,
            },
        };
        match self.jobs.get_mut(&job) {
            // What the answer rests on must be in the log first.
            Some(held) if !held.outbox.is_empty() => held.replies_next.push((reply, answer)),
            Some(held) if !held.is_committed() => held.replies.push((reply, answer)),
            _ => self.effects.answer(reply, &answer),
        }
    }

    /// Sends what was decided in this round, one append per job.
    fn flush(&mut self) {
        let dirty = std::mem::take(&mut self.dirty);
        for job in dirty {
            if let Some(held) = self.jobs.get_mut(&job)
                && held.can_send()
            {
                self.effects.append(&self.writer, &self.door, held);
            }
        }
    }

    /// A job that is gone from the desk: its windows, runs and timers go with it.
    pub(super) fn remove(&mut self, job: JobId) -> Option<Held> {
        let mut held = self.jobs.remove(&job)?;
        let mut changed = Changed::default();
        held.outstanding.clear(&mut changed);
        self.apply(job, changed);
        if let Some(at) = held.timer {
            self.timers.remove(&(at, job));
        }
        self.nodes = self.nodes.saturating_sub(held.counted);
        Some(held)
    }

    pub(super) fn remember_ended(&mut self, job: JobId) {
        if self.ended_set.insert(job) {
            self.ended.push_back(job);
        }
        while self.ended.len() > ENDED_MAX {
            if let Some(old) = self.ended.pop_front() {
                self.ended_set.remove(&old);
            }
        }
    }
}

/// Larger than every job id, for ranges over time.
fn max_job() -> JobId {
    JobId::new(uuid::Uuid::max())
}
