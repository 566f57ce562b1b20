//! What the desk watches: runs that fall silent, messages that vanish, jobs that moved without it.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::id::JobId;
use domain::job::Command;
use domain::message::{Heartbeat, Sending};
use tokio::time::Instant;

use super::desk::Desk;
use super::options::{HARMLESS_AFTER, LOOKS_MAX, Notice};
use crate::log::Owned;

impl Desk {
    /// Looks after what moves slowly: messages that nobody takes.
    pub(super) fn sweep(&mut self) {
        let mut overdue = Vec::new();
        for (job, held) in &mut self.jobs {
            let room = LOOKS_MAX.saturating_sub(overdue.len());
            let patience = self.options.run_silence;
            overdue.extend(held.outstanding.overdue(*job, patience, room));
        }
        if !overdue.is_empty() {
            self.options.dispatch.look_for(overdue);
        }
    }

    /// Claims that did no harm for so long no longer count.
    pub(super) fn settle(&mut self, after: Duration) {
        let mut harmless = Vec::new();
        for (job, held) in &mut self.jobs {
            if held.unsettled && held.version > 0 && held.since.elapsed() >= after {
                held.unsettled = false;
                harmless.push(*job);
            }
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

    pub(super) fn heartbeat(&mut self, heartbeat: &Heartbeat) {
        self.windows.hear(heartbeat);
        // After a gap the log may give our jobs to others: no orders before that is looked up.
        let awake = self.hears_since().elapsed() > self.options.sweep * 2
            && self.renewed.elapsed() < self.options.beat * 2;
        let mut stop = Vec::new();
        for run in &heartbeat.runs {
            if let Some(known) = self.runs.get_mut(&run.run_id) {
                known.heard = Instant::now();
                continue;
            }
            let over = match self.jobs.get(&run.job_id) {
                None => self.ended_set.contains(&run.job_id) || self.asleep.contains(&run.job_id),
                Some(held) => {
                    let known = held.state.node(&run.node_id);
                    let known = known.map(|node| (node.attempt, node.epoch));
                    let named = (run.attempt, run.epoch);
                    // A run that is ahead of us is not over: we are the ones behind.
                    known.is_some_and(|known| named <= known)
                        && held.outstanding.get(&run.node_id).is_none_or(|out| {
                            let sent = (out.dispatched.attempt, out.dispatched.epoch);
                            named < sent || out.run.is_some_and(|r| r != run.run_id)
                        })
                }
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
        self.settle(HARMLESS_AFTER);
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
