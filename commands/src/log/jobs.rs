//! Which jobs are open, who owns them, and who is alive.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::id::{JobId, OwnerId};
use futures_util::future::BoxFuture;

use super::error::LogError;

/// A job that has not ended, as `open_jobs` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    pub job_id: JobId,
    pub request_id: String,
    pub owner: Option<OwnerId>,
    pub epoch: u64,
    pub claims: u32,
    pub weight: u32,
    pub due_at: Option<DateTime<Utc>>,
    /// The version of its stream; 0 while it is only a request.
    pub version: u64,
    /// The newest schema version in its stream.
    pub max_schema: u16,
}

/// One job of an owner, for the sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    pub job_id: JobId,
    pub epoch: u64,
    pub version: u64,
    pub due_at: Option<DateTime<Utc>>,
}

/// Which orphans are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Orphans {
    /// Owners that have not renewed their lease for so long; with nothing, only those that have left.
    pub stale: Option<Duration>,
    /// Not those that sleep for longer than this.
    pub due_within: Duration,
    /// Not those with so many claims: they are in quarantine.
    pub claims_max: u32,
    pub limit: usize,
}

/// Reads of `open_jobs`, and the leases. All times are those of the store's clock.
pub trait OpenJobs {
    /// Requests without a job that have waited for at least `age`, oldest first; but for those with
    /// `claims_max` claims, which are in quarantine.
    fn unclaimed(
        &self,
        age: Duration,
        claims_max: u32,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JobRow>, LogError>>;

    /// Jobs that lost their owner, those with the fewest claims first, otherwise in an order of the
    /// caller's own.
    fn orphans(
        &self,
        caller: OwnerId,
        wanted: Orphans,
    ) -> BoxFuture<'_, Result<Vec<JobRow>, LogError>>;

    /// Everything that the log gives to an owner.
    fn owned(&self, owner: OwnerId) -> BoxFuture<'_, Result<Vec<Owned>, LogError>>;

    /// One open job.
    fn open_job(&self, job: JobId) -> BoxFuture<'_, Result<Option<JobRow>, LogError>>;

    /// Counts a claim before anything is folded, because folding may be what kills the claimer.
    fn count_claims<'a>(&'a self, jobs: &'a [JobId]) -> BoxFuture<'a, Result<(), LogError>>;

    /// The same for jobs that nobody owns yet. Answers those that were tried fewer than `most` times.
    fn count_tries<'a>(
        &'a self,
        jobs: &'a [JobId],
        most: u32,
    ) -> BoxFuture<'a, Result<Vec<JobId>, LogError>>;

    /// Takes one claim back: it came to nothing, but not because anybody died of it.
    fn forgive(&self, job: JobId) -> BoxFuture<'_, Result<(), LogError>>;

    /// Jobs of an owner have proven harmless: their claims no longer count against them.
    fn settle<'a>(
        &'a self,
        owner: OwnerId,
        jobs: &'a [JobId],
    ) -> BoxFuture<'a, Result<(), LogError>>;

    /// Lets a quarantined job be claimed again; false if it is not open.
    fn release(&self, job: JobId) -> BoxFuture<'_, Result<bool, LogError>>;

    /// Takes or renews a lease. Answers how many owners are alive, the caller among them.
    fn beat<'a>(
        &'a self,
        owner: OwnerId,
        host: &'a str,
        stale: Duration,
    ) -> BoxFuture<'a, Result<u32, LogError>>;

    /// Gives up the lease: the jobs are free at once.
    fn leave(&self, owner: OwnerId) -> BoxFuture<'_, Result<(), LogError>>;
}
