//! `open_jobs` and `owners` in memory.

use std::time::Duration;

use chrono::TimeDelta;
use domain::id::{JobId, OwnerId};
use futures_util::future::BoxFuture;

use super::error::LogError;
use super::jobs::{JobRow, OpenJobs, Orphans, Owned};
use super::memory::{Job, MemoryLog, done};

fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

impl OpenJobs for MemoryLog {
    fn unclaimed(
        &self,
        age: Duration,
        claims_max: u32,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JobRow>, LogError>> {
        let (inner, until) = (self.lock(), (self.clock)() - delta(age));
        let mut waiting: Vec<&Job> = inner
            .jobs
            .values()
            .filter(|job| job.row.owner.is_none() && job.submitted_at <= until)
            .filter(|job| job.row.claims < claims_max)
            .collect();
        waiting.sort_by_key(|job| job.submitted_at);
        done(
            waiting
                .into_iter()
                .take(limit)
                .map(|j| inner.row(j))
                .collect(),
        )
    }

    fn orphans(
        &self,
        caller: OwnerId,
        wanted: Orphans,
    ) -> BoxFuture<'_, Result<Vec<JobRow>, LogError>> {
        let (inner, now) = (self.lock(), (self.clock)());
        let until = wanted.stale.map(|stale| now - delta(stale));
        let alive = |owner: OwnerId| {
            let beat = inner.owners.get(&owner);
            beat.is_some_and(|beat| until.is_none_or(|until| *beat >= until))
        };
        let awake = now + delta(wanted.due_within);
        let orphaned = |job: &&Job| {
            let row = &job.row;
            let is_gone = |owner| owner != caller && !alive(owner);
            row.owner.is_some_and(is_gone)
                && row.claims < wanted.claims_max
                && row.due_at.is_none_or(|due| due < awake)
        };
        let mut found: Vec<&Job> = inner.jobs.values().filter(orphaned).collect();
        found.sort_by_key(|job| job.row.claims);
        let found = found.into_iter().take(wanted.limit);
        done(found.map(|job| inner.row(job)).collect())
    }

    fn owned(&self, owner: OwnerId) -> BoxFuture<'_, Result<Vec<Owned>, LogError>> {
        let inner = self.lock();
        let mine = inner.jobs.values().filter(|j| j.row.owner == Some(owner));
        let rows = mine.map(|job| inner.row(job)).map(|row| Owned {
            job_id: row.job_id,
            epoch: row.epoch,
            version: row.version,
            due_at: row.due_at,
        });
        done(rows.collect())
    }

    fn open_job(&self, job: JobId) -> BoxFuture<'_, Result<Option<JobRow>, LogError>> {
        let inner = self.lock();
        done(inner.jobs.get(&job.to_string()).map(|job| inner.row(job)))
    }

    fn count_claims<'a>(&'a self, jobs: &'a [JobId]) -> BoxFuture<'a, Result<(), LogError>> {
        let mut inner = self.lock();
        for job in jobs {
            if let Some(job) = inner.jobs.get_mut(&job.to_string()) {
                job.row.claims += 1;
            }
        }
        done(())
    }

    fn count_tries<'a>(
        &'a self,
        jobs: &'a [JobId],
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<JobId>, LogError>> {
        let mut inner = self.lock();
        let mut tried = Vec::new();
        for id in jobs {
            if let Some(job) = inner.jobs.get_mut(&id.to_string())
                && job.row.owner.is_none()
                && job.row.claims < most
            {
                job.row.claims += 1;
                tried.push(*id);
            }
        }
        done(tried)
    }

    fn forgive(&self, job: JobId) -> BoxFuture<'_, Result<(), LogError>> {
        let mut inner = self.lock();
        if let Some(job) = inner.jobs.get_mut(&job.to_string()) {
            job.row.claims = job.row.claims.saturating_sub(1);
        }
        done(())
    }

    fn settle<'a>(
        &'a self,
        owner: OwnerId,
        jobs: &'a [JobId],
    ) -> BoxFuture<'a, Result<(), LogError>> {
        let mut inner = self.lock();
        for id in jobs {
            if let Some(job) = inner.jobs.get_mut(&id.to_string())
                && job.row.owner == Some(owner)
            {
                job.row.claims = 0;
            }
        }
        done(())
    }

    fn release(&self, job: JobId) -> BoxFuture<'_, Result<bool, LogError>> {
        let mut inner = self.lock();
        let found = inner.jobs.get_mut(&job.to_string());
        done(found.map(|job| job.row.claims = 0).is_some())
    }

    fn beat<'a>(
        &'a self,
        owner: OwnerId,
        _host: &'a str,
        stale: Duration,
    ) -> BoxFuture<'a, Result<u32, LogError>> {
        let (mut inner, now) = (self.lock(), (self.clock)());
        inner.owners.insert(owner, now);
        let alive = inner.owners.values().filter(|b| **b >= now - delta(stale));
        done(u32::try_from(alive.count()).unwrap_or(u32::MAX))
    }

    fn leave(&self, owner: OwnerId) -> BoxFuture<'_, Result<(), LogError>> {
        self.lock().owners.remove(&owner);
        done(())
    }
}
