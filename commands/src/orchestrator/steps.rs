//! What the desk does with each kind of input.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::id::{JobId, RunId};
use domain::job::command::Create;
use domain::job::{Command, Event};
use domain::message::{Heartbeat, ReportReply, Sending};

use tokio::time::Instant;

use super::desk::{Desk, Input};
use super::effects::{ends, superseded};
use super::held::{Held, Trouble};
use super::options::{HARMLESS_AFTER, LOOKS_MAX, Notice};
use super::outstanding::Changed;
use crate::appender::{AppendError, Appended};
use crate::log::{LogError, Owned};

impl Desk {
    /// A request becomes a job here, unless somebody else is faster.
    pub(super) fn create(&mut self, held: Held, create: Box<Create>) {
        let job = held.job_id;
        if self.jobs.contains_key(&job) {
            return;
        }
        self.hold(held);
        match self.decide(job, Command::Create(create)) {
            Ok(_) => self.go_on(job),
            Err(Trouble::Rejected(rejection)) => {
                tracing::error!(%job, %rejection, "a job cannot be created");
                self.remove(job);
            }
            Err(Trouble::Panicked(_)) => {}
        }
    }

    /// A job that the log gives to this owner.
    pub(super) fn adopt(&mut self, held: Held) {
        let job = held.job_id;
        if self.jobs.contains_key(&job) || held.fence.owner != self.options.owner {
            return;
        }
        let mut changed = Changed::default();
        held.outstanding.recount(&mut changed);
        let began = held.running();
        self.effects.publish_outstanding(&held);
        self.hold(held);
        changed.began = began;
        self.apply(job, changed);
        // Deadlines and engine steps that the last owner did not get to.
        if let Err(trouble) = self.decide(job, Command::Advance) {
            tracing::debug!(%job, ?trouble, "nothing to go on with");
        }
        self.touch(job);
    }

    /// A full decision leaves engine steps for the next one.
    fn go_on(&mut self, job: JobId) {
        while let Some(held) = self.jobs.get(&job) {
            if held.state.is_settled() || held.outbox.len() > 1_000 {
                return;
            }
            match self.decide(job, Command::Advance) {
                Ok(true) => {}
                Ok(false) | Err(_) => return,
            }
        }
    }

    pub(super) fn appended(&mut self, job: JobId, result: Result<Appended, AppendError>) {
        let Some(held) = self.jobs.get_mut(&job) else {
            return;
        };
        if held.version == 0 && result.is_ok() && bus::fault::strikes("claim-answer-lost") {
            self.remove(job);
            return;
        }
        match result {
            Ok(appended) => {
                bus::fault::point("appended-not-published");
                held.version = appended.versions.first().copied().unwrap_or(held.version);
                let events = std::mem::take(&mut held.in_flight);
                let replies = std::mem::take(&mut held.replies);
                held.settling = false;
                acknowledge(held);
                if !events.iter().any(ends) {
                    self.effects.publish(held, &events);
                }
                if !replies.is_empty() {
                    bus::fault::point("committed-not-answered");
                }
                for (to, reply) in replies {
                    self.effects.answer(to, &reply);
                }
                if events.iter().any(ends) {
                    self.finish(job);
                } else {
                    self.go_on(job);
                    self.touch(job);
                    self.put_down(job);
                }
            }
            Err(AppendError::Conflict { versions }) if held.version == 0 => {
                // Somebody else made the job, or the request was withdrawn meanwhile.
                if versions.first().is_some_and(|version| *version > 0) {
                    acknowledge(held);
                }
                self.remove(job);
            }
            Err(AppendError::Conflict { .. }) => {
                held.put_back();
                self.read_tail(job);
            }
            Err(error) => {
                // Not lost: the sweep finds that the log gives the job to us and loads it again.
                tracing::error!(%job, %error, "a job is put down because its append failed");
                self.remove(job);
            }
        }
    }

    /// A job that only waits for a time is taken off the desk, if the log says so and it is still true.
    fn put_down(&mut self, job: JobId) {
        let Some(held) = self.jobs.get_mut(&job) else {
            return;
        };
        let Some(due) = held.put_down.take() else {
            return;
        };
        if held.idle_until() == Some(due) && held.is_committed() && !held.reading {
            tracing::debug!(%job, %due, "the job is put down");
            self.remove(job);
            self.asleep.insert(job);
        } else {
            // The log says that it sleeps, and it does not.
            held.unsettled = true;
        }
    }

    /// Looks after what moves slowly: claims that did no harm, and messages that nobody takes.
    pub(super) fn sweep(&mut self) {
        let mut harmless = Vec::new();
        let mut overdue = Vec::new();
        for (job, held) in &mut self.jobs {
            if held.unsettled && held.version > 0 && held.since.elapsed() >= HARMLESS_AFTER {
                held.unsettled = false;
                harmless.push(*job);
            }
            let room = LOOKS_MAX.saturating_sub(overdue.len());
            let patience = self.options.run_silence;
            overdue.extend(held.outstanding.overdue(*job, patience, room));
        }
        if !overdue.is_empty() {
            self.options.dispatch.look_for(overdue);
        }
        if !harmless.is_empty() {
            let (log, owner) = (self.writer.log.clone(), self.options.owner);
            tokio::spawn(async move {
                if let Err(error) = log.settle(owner, &harmless).await {
                    tracing::warn!(%error, "claims still count against jobs");
                }
            });
        }
    }

    /// The job has ended, and everybody who works on it is told.
    fn finish(&mut self, job: JobId) {
        self.remember_ended(job);
        let stop = self.runs_of(job);
        if let Some(held) = self.remove(job) {
            let late = held.replies.into_iter().chain(held.replies_next);
            for (to, _) in late {
                self.effects.answer(to, &superseded("the job has ended"));
            }
        }
        self.effects.stop(stop);
    }

    fn runs_of(&self, job: JobId) -> HashMap<String, Vec<RunId>> {
        let mut by_worker: HashMap<String, Vec<RunId>> = HashMap::new();
        for (id, run) in self.runs.iter().filter(|(_, run)| run.job == job) {
            by_worker.entry(run.worker.clone()).or_default().push(*id);
        }
        by_worker
    }

    /// Somebody else wrote to a job: if it is ours and idle, read on now; if not, its append will tell.
    pub(super) fn read_on(&mut self, job: JobId) {
        if self
            .jobs
            .get(&job)
            .is_some_and(|held| held.in_flight.is_empty())
        {
            self.read_tail(job);
        }
    }

    fn read_tail(&mut self, job: JobId) {
        let Some(held) = self.jobs.get_mut(&job) else {
            return;
        };
        if std::mem::replace(&mut held.reading, true) {
            return;
        }
        let (log, door) = (self.writer.log.clone(), self.door.clone());
        let (after, life) = (held.version, held.life);
        tokio::spawn(async move {
            let stream = format!("job:{job}");
            let result = match log.read_stream(&stream, after, 10_000).await {
                Ok(recorded) => super::load::job_events(&recorded),
                Err(error) => Err(error),
            };
            door.bring(Input::Tail { job, life, result });
        });
    }

    /// Folds what others wrote. Intents of others (pause, resume) commute with what is decided here
    /// and not yet committed, so that is only sent again; a newer claim or an end is the end here.
    pub(super) fn tail(&mut self, job: JobId, result: Result<Vec<Event>, LogError>) {
        let Some(held) = self.jobs.get_mut(&job) else {
            return;
        };
        held.reading = false;
        let events = match result {
            Ok(events) => events,
            Err(error) => {
                tracing::warn!(%job, %error, "cannot read on");
                if error.is_transient() {
                    self.read_tail_later(job);
                } else {
                    self.remove(job);
                }
                return;
            }
        };
        for event in &events {
            match event {
                Event::JobClaimed { epoch, .. } if *epoch > held.fence.epoch => {
                    tracing::info!(%job, epoch, "another orchestrator owns the job now");
                    return self.give_up(job);
                }
                event if ends(event) => return self.finish(job),
                Event::JobPaused { .. } | Event::JobResumed => {
                    if !held.follow(event) {
                        return self.poisoned(job, "folding what others wrote");
                    }
                }
                // Nobody but us writes anything else: it is ours, and we do not know of it. To fold it
                // now and to send what is decided here would count it twice.
                _ => {
                    tracing::warn!(%job, "the log is ahead of us; the job is loaded again");
                    return self.give_up(job);
                }
            }
        }
        self.touch(job);
    }

    fn read_tail_later(&mut self, job: JobId) {
        let door = self.door.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            door.bring(Input::Changed(job));
        });
    }

    /// Another owner has the job: whatever was decided here never happened.
    fn give_up(&mut self, job: JobId) {
        if let Some(held) = self.remove(job) {
            for (to, _) in held.replies.into_iter().chain(held.replies_next) {
                self.effects.answer(to, &ReportReply::NotMine);
            }
        }
    }

    /// A job whose rules panic is put down and counted, so that it is left alone after a few times.
    pub(super) fn poisoned(&mut self, job: JobId, text: &str) {
        tracing::error!(%job, panic = text, "a job is put down because deciding it panicked");
        self.remove(job);
        let log = self.writer.log.clone();
        tokio::spawn(async move {
            if let Err(error) = log.count_claims(&[job]).await {
                tracing::warn!(%job, %error, "a panic could not be counted");
            }
        });
    }

    pub(super) fn heartbeat(&mut self, heartbeat: &Heartbeat) {
        self.windows.hear(heartbeat);
        // After a gap the log may give our jobs to others: no orders before that is looked up.
        let awake = self.hears_since().elapsed() > self.options.sweep * 2;
        let mut stop = Vec::new();
        for run in &heartbeat.runs {
            if let Some(known) = self.runs.get_mut(&run.run_id) {
                known.heard = Instant::now();
                continue;
            }
            let over = match self.jobs.get(&run.job_id) {
                None => self.ended_set.contains(&run.job_id) || self.asleep.contains(&run.job_id),
                Some(held) => held.outstanding.get(&run.node_id).is_none_or(|out| {
                    let sent = (out.dispatched.attempt, out.dispatched.epoch);
                    (run.attempt, run.epoch) < sent || out.run.is_some_and(|r| r != run.run_id)
                }),
            };
            if over {
                stop.push(run.run_id);
            }
        }
        if awake && !stop.is_empty() {
            let to = HashMap::from([(heartbeat.worker_id.clone(), stop)]);
            self.effects.stop(to);
        }
    }

    fn hears_since(&mut self) -> Instant {
        self.hearing.since(self.options.run_silence / 2)
    }

    /// Runs that no heartbeat has named for too long, although we would have heard it.
    pub(super) fn look(&mut self) {
        let silent = self.options.run_silence;
        let since = self.hears_since();
        let lost = self
            .runs
            .iter()
            .filter(|(_, run)| run.heard.max(since).elapsed() > silent);
        let lost: Vec<_> = lost
            .map(|(id, r)| (*id, r.job, r.node.clone(), r.attempt, r.epoch))
            .collect();
        for (run, job, node, attempt, epoch) in lost {
            tracing::warn!(%job, %node, %run, "a run is lost");
            self.runs.remove(&run);
            let command = Command::RunLost {
                node,
                attempt,
                epoch,
                run,
            };
            if let Err(trouble) = self.decide(job, command) {
                tracing::debug!(%job, ?trouble, "the lost run did not matter");
            }
        }
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        let gone = match notice {
            Notice::Published(places) => {
                for (sending, seq) in places {
                    if let Some(held) = self.jobs.get_mut(&sending.job_id) {
                        held.outstanding.place(&sending, seq);
                    }
                }
                return;
            }
            Notice::MessageLost(sending) => vec![sending],
            Notice::StreamLost => self.waiting(),
        };
        for sending in gone {
            let job = sending.job_id;
            tracing::warn!(%job, node = %sending.node_id, "a message is lost");
            let command = Command::MessageLost {
                node: sending.node_id,
                attempt: sending.attempt,
                epoch: sending.epoch,
            };
            if let Err(trouble) = self.decide(job, command) {
                tracing::debug!(%job, ?trouble, "the lost message did not matter");
            }
        }
    }

    /// Everything that is sent and that nobody has begun.
    fn waiting(&self) -> Vec<Sending> {
        let all = self.jobs.iter().flat_map(|(job, held)| {
            let waiting = held.outstanding.iter().filter(|(_, out)| out.run.is_none());
            waiting.map(move |(node, out)| Sending {
                job_id: *job,
                node_id: node.clone(),
                attempt: out.dispatched.attempt,
                epoch: out.dispatched.epoch,
            })
        });
        all.collect()
    }

    /// Compares the desk with the log: what moved without us is read, what is missing is named.
    pub(super) fn compare(&mut self, rows: &[Owned], soon: DateTime<Utc>) -> Vec<JobId> {
        let by_job: HashMap<JobId, &Owned> = rows.iter().map(|row| (row.job_id, row)).collect();
        let moved: Vec<JobId> = self
            .jobs
            .iter()
            .filter(|(_, held)| held.in_flight.is_empty() && held.version > 0)
            .filter(|(job, held)| {
                by_job
                    .get(job)
                    .is_none_or(|row| row.version > held.version || row.epoch != held.fence.epoch)
            })
            .map(|(job, _)| *job)
            .collect();
        moved.into_iter().for_each(|job| self.read_tail(job));
        self.asleep.retain(|job| by_job.contains_key(job));
        rows.iter()
            .filter(|row| row.due_at.is_none_or(|due| due <= soon))
            .map(|row| row.job_id)
            .filter(|job| !self.jobs.contains_key(job) && !self.ended_set.contains(job))
            .collect()
    }
}

/// The request has its job: its message has done its work.
fn acknowledge(held: &mut Held) {
    held.taken = None;
    if let Some(message) = held.ack.take() {
        tokio::spawn(async move {
            if let Err(error) = message.ack().await {
                tracing::debug!(%error, "a request will be delivered again");
            }
        });
    }
}
