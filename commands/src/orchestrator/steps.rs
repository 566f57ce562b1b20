//! The life of a job on the desk: made or taken over, appended to, read on, ended, put down.

use std::collections::HashMap;

use domain::id::{JobId, RunId};
use domain::job::command::Create;
use domain::job::{Command, Event};
use domain::message::ReportReply;

use super::desk::Desk;
use super::door::Input;
use super::effects::{ends, superseded};
use super::held::{Held, Trouble};
use super::outstanding::Changed;
use crate::appender::{AppendError, Appended};
use crate::log::LogError;

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

    pub(super) fn read_tail(&mut self, job: JobId) {
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
}

/// The request has its job: its message has done its work.
fn acknowledge(held: &mut Held) {
    if let Some(taken) = held.taken.take() {
        // Nobody waits for a request that came for the first time.
        let _ = taken.send(());
    }
    if let Some(message) = held.ack.take() {
        tokio::spawn(async move {
            if let Err(error) = message.ack().await {
                tracing::debug!(%error, "a request will be delivered again");
            }
        });
    }
}
