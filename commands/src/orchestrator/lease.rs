//! The passing of time: the lease is renewed, orphans are claimed, and nothing depends on a message
//! having arrived.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::id::{JobId, OwnerId, RequestId};
use domain::job::Policy;
use futures_util::StreamExt as _;
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::desk::{Door, Input};
use super::intake::Intake;
use super::load::LoadError;
use super::options::CLAIMS_MAX;
use super::reports::PING;
use crate::log::{JobRow, LogError};

/// Orphans that are claimed in one scan.
const ORPHANS_MAX: usize = 500;
/// Requests that are taken in one sweep.
const UNCLAIMED_MAX: usize = 500;
/// Jobs that are loaded at the same time.
const LOADS: usize = 8;

/// Keeps the lease of one orchestrator.
pub(super) struct Keeper {
    pub(super) intake: Intake,
    pub(super) door: Door,
    pub(super) owner: OwnerId,
    pub(super) host: String,
    pub(super) policy: Policy,
    pub(super) beat: Duration,
    pub(super) stale: Duration,
    pub(super) scan: Duration,
    pub(super) sweep: Duration,
}

impl Keeper {
    /// Works until the end.
    pub(super) async fn run(self, shutdown: CancellationToken) {
        let mut beats = every(self.beat);
        let mut scans = every(self.scan);
        let mut sweeps = every(self.sweep);
        let bus = &self.intake.bus;
        let mut departures = bus.client.subscribe(bus.subjects.owner_left()).await.ok();
        // Nobody is robbed before we ourselves have been well for one stale period.
        let mut trusted_from = Instant::now();
        loop {
            let departed = async {
                match departures.as_mut() {
                    Some(departures) => departures.next().await.is_some(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = beats.tick() => {
                    if let Err(reason) = self.renew().await {
                        tracing::warn!(reason, "the lease was not renewed");
                        trusted_from = Instant::now() + self.stale;
                    }
                }
                _ = scans.tick() => self.claim_orphans(trusted_from).await,
                _ = departed => self.claim_orphans(trusted_from).await,
                _ = sweeps.tick() => {
                    if let Err(error) = self.sweep().await {
                        tracing::warn!(%error, "the sweep could not look");
                    }
                }
            }
        }
    }

    /// Renews the lease, if this process really works: the desk turns and reports arrive.
    async fn renew(&self) -> Result<(), String> {
        let patience = self.beat.min(Duration::from_secs(5));
        let load = tokio::time::timeout(patience, self.door.load()).await;
        load.ok().flatten().ok_or("the desk does not turn")?;
        let bus = &self.intake.bus;
        let request = bus
            .client
            .request(bus.subjects.report(self.owner), PING.into());
        match tokio::time::timeout(patience, request).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(format!("reports do not arrive: {error}")),
            Err(_) => return Err("reports do not arrive".to_owned()),
        }
        let log = &self.intake.writer.log;
        let owners = log.beat(self.owner, &self.host, self.stale).await;
        let owners = owners.map_err(|error| error.to_string())?;
        self.door.bring(Input::Owners(owners));
        let adjusted = self.intake.writer.clock.adjust(&**log).await;
        adjusted.map_err(|error| error.to_string())
    }

    async fn claim_orphans(&self, trusted_from: Instant) {
        if Instant::now() < trusted_from || !self.intake.has_room().await {
            return;
        }
        let log = &self.intake.writer.log;
        let orphans = match log.orphans(self.owner, self.stale, ORPHANS_MAX).await {
            Ok(orphans) => orphans,
            Err(error) => return tracing::warn!(%error, "orphans could not be looked for"),
        };
        futures_util::stream::iter(orphans)
            .for_each_concurrent(LOADS, |row| async move { self.reclaim(&row).await })
            .await;
    }

    async fn reclaim(&self, row: &JobRow) {
        let job = row.job_id;
        match self
            .intake
            .writer
            .reclaim(row, self.owner, &self.policy)
            .await
        {
            Ok(held) => {
                tracing::info!(%job, epoch = held.fence.epoch, "an orphan was claimed");
                self.door.bring(Input::Loaded(Box::new(held)));
            }
            Err(LoadError::Lost) => {}
            Err(error) => tracing::error!(%job, %error, "an orphan cannot be taken over"),
        }
    }

    /// Requests whose wake-up was lost, own jobs that are not on the desk, jobs that moved without us.
    async fn sweep(&self) -> Result<(), LogError> {
        let log = &self.intake.writer.log;
        if self.intake.has_room().await {
            let rows = log.unclaimed(self.sweep, UNCLAIMED_MAX).await?;
            let rows: Vec<JobRow> = rows.into_iter().filter(|r| r.claims < CLAIMS_MAX).collect();
            let jobs: Vec<JobId> = rows.iter().map(|row| row.job_id).collect();
            if !jobs.is_empty() {
                // They were tried before, perhaps by somebody whom it killed.
                log.count_claims(&jobs).await?;
                let requests: Vec<RequestId> = rows
                    .iter()
                    .filter_map(|r| r.request_id.parse().ok())
                    .collect();
                self.intake.claim(&requests, &mut BTreeMap::new()).await?;
            }
        }
        let owned = log.owned(self.owner).await?;
        let (answer, missing) = oneshot::channel();
        self.door.bring(Input::Owned(owned, answer));
        let missing = missing.await.unwrap_or_default();
        futures_util::stream::iter(missing)
            .for_each_concurrent(LOADS, |job| async move { self.find_again(job).await })
            .await;
        Ok(())
    }

    /// The log gives us a job that is not on the desk: a claim whose answer was lost, or a panic.
    async fn find_again(&self, job: JobId) {
        let writer = &self.intake.writer;
        match writer.log.open_job(job).await {
            Ok(Some(row)) if row.owner == Some(self.owner) && row.claims < CLAIMS_MAX => {}
            Ok(Some(row)) if row.claims >= CLAIMS_MAX => {
                return tracing::error!(%job, "the job is in quarantine: see `strata job show`");
            }
            _ => return,
        }
        if self.door.holds(job).await || writer.log.count_claims(&[job]).await.is_err() {
            return;
        }
        match writer.fold_job(job).await {
            Ok(mut held) if held.fence.owner == self.owner => {
                held.unsettled = true;
                self.door.bring(Input::Loaded(Box::new(held)));
            }
            Ok(_) => {}
            Err(error) => tracing::error!(%job, %error, "an own job cannot be loaded"),
        }
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
