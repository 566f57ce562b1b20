//! The passing of time: the lease is renewed, orphans are claimed, and nothing depends on a message
//! having arrived.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::id::{JobId, OwnerId};
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
/// How long a job at its last chance has the process for itself.
const TRIAL: Duration = Duration::from_secs(2);
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
    /// Works until the end. The lease is renewed whatever the others take their time for.
    pub(super) async fn run(self, shutdown: CancellationToken) {
        // Nobody is robbed before we ourselves have been well for one stale period.
        let trusted_from = Mutex::new(Instant::now());
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = self.keep(&trusted_from) => {}
            () = self.look_for_orphans(&trusted_from) => {}
            () = self.look_after() => {}
        }
    }

    async fn keep(&self, trusted_from: &Mutex<Instant>) {
        let mut beats = every(self.beat);
        loop {
            beats.tick().await;
            if let Err(reason) = self.renew().await {
                tracing::warn!(reason, "the lease was not renewed");
                let mut trusted_from = trusted_from.lock().unwrap_or_else(PoisonError::into_inner);
                *trusted_from = Instant::now() + self.stale;
            }
        }
    }

    async fn look_for_orphans(&self, trusted_from: &Mutex<Instant>) {
        let mut scans = every(self.scan);
        let bus = &self.intake.bus;
        let mut departures = bus.client.subscribe(bus.subjects.owner_left()).await.ok();
        loop {
            let departed = async {
                match departures.as_mut() {
                    Some(departures) => departures.next().await.is_some(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = scans.tick() => {}
                _ = departed => {}
            }
            let from = *trusted_from.lock().unwrap_or_else(PoisonError::into_inner);
            if Instant::now() >= from && self.intake.has_room().await {
                self.claim_orphans().await;
            }
        }
    }

    async fn look_after(&self) {
        let mut sweeps = every(self.sweep);
        loop {
            sweeps.tick().await;
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "the sweep could not look");
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

    async fn claim_orphans(&self) {
        let log = &self.intake.writer.log;
        let orphans = match log.orphans(self.owner, self.stale, ORPHANS_MAX).await {
            Ok(orphans) => orphans,
            Err(error) => return tracing::warn!(%error, "orphans could not be looked for"),
        };
        // One that was claimed before, without a word since, may kill: it comes alone, so that nothing is
        // counted against its neighbours; and at its last chance it has to prove itself.
        let (first, again): (Vec<_>, Vec<_>) = orphans.into_iter().partition(|row| row.claims == 0);
        futures_util::stream::iter(&first)
            .for_each_concurrent(LOADS, |row| self.reclaim(row))
            .await;
        for row in &again {
            self.reclaim(row).await;
            if row.claims + 1 == CLAIMS_MAX && self.door.holds(row.job_id).await {
                tokio::time::sleep(TRIAL.min(self.stale / 4)).await;
                if let Err(error) = log.settle(self.owner, &[row.job_id]).await {
                    tracing::warn!(job = %row.job_id, %error, "its claims still count");
                }
            }
        }
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
            for row in rows.iter().filter(|row| row.claims < CLAIMS_MAX) {
                if let Ok(request) = row.request_id.parse() {
                    self.intake.claim_again(request, None).await?;
                }
            }
        }
        self.door.bring(Input::Sweep);
        let owned = log.owned(self.owner).await?;
        let (answer, missing) = oneshot::channel();
        // Jobs that were put down are taken up a little before something is due.
        let soon = self.intake.writer.clock.now() + self.sweep * 2;
        self.door.bring(Input::Owned(owned, soon, answer));
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
