//! What no message brings: orphans of dead orchestrators, requests whose wake-up was lost, own jobs that
//! are not on the desk.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::id::JobId;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::door::Input;
use super::lease::{Keeper, every, locked};
use super::load::LoadError;
use super::options::CLAIMS_MAX;
use crate::log::{JobRow, LogError, Orphans};

/// Orphans that are looked at together.
const ORPHANS_PAGE: usize = 500;
/// Requests that are taken in one sweep.
const UNCLAIMED_MAX: usize = 500;
/// Jobs that are loaded at the same time.
const LOADS: usize = 8;
/// How long a job at its last chance has the process for itself,
const TRIAL: Duration = Duration::from_secs(2);
/// and how many of them are tried before others are looked for.
const TRIALS_MAX: usize = 10;

impl Keeper {
    /// Claims what dead orchestrators leave behind, now and then and when one says that it leaves.
    pub(super) async fn look_for_orphans(&self) {
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
            let trusted_from = *locked(&self.trusted_from);
            tokio::select! {
                _ = scans.tick() => {}
                _ = departed => {}
                // At once when others may be judged, and not a scan later.
                () = tokio::time::sleep_until(trusted_from), if Instant::now() < trusted_from => {}
            }
            // A dead owner may have had thousands of jobs. Who has left is gone for certain; whoever is only
            // silent may be so because of us.
            loop {
                let is_trusted = Instant::now() >= *locked(&self.trusted_from);
                let stale = is_trusted.then_some(self.stale);
                match self.claim_orphans(stale).await {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        tracing::warn!(%error, "orphans could not be looked for");
                        break;
                    }
                }
            }
        }
    }

    /// One page of them; true if there may be more that can be taken now.
    async fn claim_orphans(&self, stale: Option<Duration>) -> Result<bool, LogError> {
        let Some((jobs, nodes)) = self.door.load().await else {
            return Ok(false);
        };
        let log = &self.intake.writer.log;
        // What only waits for a time is left alone until that is near.
        let due_within = self.scan + self.sweep * 2;
        let wanted = Orphans {
            stale,
            due_within,
            claims_max: CLAIMS_MAX,
            limit: ORPHANS_PAGE,
        };
        let page = log.orphans(self.owner, wanted);
        let page = page.await?;
        let is_full = page.len() == ORPHANS_PAGE;
        // As many as the budget allows; one giant is taken by whoever holds nothing else.
        let mut room =
            (self.intake.jobs_max.saturating_sub(jobs)).min(if nodes >= self.intake.nodes_max {
                0
            } else {
                usize::MAX
            });
        let mut nodes_left = self.intake.nodes_max.saturating_sub(nodes);
        let fits = |row: &JobRow| {
            let weight = usize::try_from(row.weight).unwrap_or(usize::MAX);
            let fits = room > 0 && (weight <= nodes_left || nodes_left == self.intake.nodes_max);
            if fits {
                room -= 1;
                nodes_left = nodes_left.saturating_sub(weight);
            }
            fits
        };
        // One that was claimed before, without a word since, may kill: it comes alone, so that nothing is
        // counted against its neighbours; and at its last chance it has to prove itself.
        let (first, again): (Vec<_>, Vec<_>) = page
            .into_iter()
            .filter(fits)
            .partition(|row| row.claims == 0);
        let mut claimed = 0;
        let mut loads = futures_util::stream::iter(first)
            .map(|row| async move { self.reclaim(&row).await })
            .buffer_unordered(LOADS);
        while let Some(is_ours) = loads.next().await {
            claimed += usize::from(is_ours);
        }
        let mut trials = 0;
        for row in &again {
            let is_last_chance = row.claims + 1 >= CLAIMS_MAX;
            trials += usize::from(is_last_chance);
            if trials > TRIALS_MAX {
                // Look again first: others may have become orphans, and they come before these.
                return Ok(claimed > 0);
            }
            let is_ours = self.reclaim(row).await;
            claimed += usize::from(is_ours);
            if is_ours && is_last_chance {
                tokio::time::sleep(TRIAL.min(self.stale / 4)).await;
                log.settle(self.owner, &[row.job_id]).await?;
            }
        }
        Ok(is_full && claimed > 0)
    }

    /// Takes one job over; true if it is on the desk now.
    async fn reclaim(&self, row: &JobRow) -> bool {
        let job = row.job_id;
        locked(&self.loading).insert(job);
        let claim = self.intake.writer.reclaim(row, self.owner, &self.policy);
        let claimed = AssertUnwindSafe(claim).catch_unwind().await;
        let is_ours = match claimed.unwrap_or(Err(LoadError::Panicked)) {
            Ok(held) => {
                tracing::info!(%job, epoch = held.fence.epoch, "an orphan was claimed");
                self.door.bring(Input::Loaded(Box::new(held)));
                // Before anything else is counted, the desk must have survived it.
                self.door.holds(job).await
            }
            Err(LoadError::Lost) => false,
            Err(error) => {
                tracing::error!(%job, %error, "an orphan cannot be taken over");
                self.forgive(job, &error).await;
                false
            }
        };
        locked(&self.loading).remove(&job);
        is_ours
    }

    /// Looks after everything that moves without a message.
    pub(super) async fn look_after(&self) {
        let mut sweeps = every(self.sweep);
        loop {
            sweeps.tick().await;
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "the sweep could not look");
            }
        }
    }

    /// Requests whose wake-up was lost, own jobs that are not on the desk, jobs that moved without us.
    async fn sweep(&self) -> Result<(), LogError> {
        let log = &self.intake.writer.log;
        if self.intake.has_room().await {
            let rows = log.unclaimed(self.sweep, CLAIMS_MAX, UNCLAIMED_MAX).await?;
            for row in rows {
                if let Ok(request) = row.request_id.parse() {
                    self.intake.claim_again(request, None).await?;
                }
            }
        }
        self.door.bring(Input::Sweep);
        let owned = log.owned(self.owner).await?;
        // Jobs that were put down are taken up a little before something is due.
        let soon = self.soon();
        let (answer, missing) = oneshot::channel();
        self.door.bring(Input::Owned(owned, soon, answer));
        let mut missing = missing.await.unwrap_or_default();
        missing.retain(|job| !locked(&self.loading).contains(job));
        futures_util::stream::iter(missing)
            .for_each_concurrent(LOADS, |job| async move { self.find_again(job).await })
            .await;
        Ok(())
    }

    /// Until then a job that was put down is taken up.
    fn soon(&self) -> DateTime<Utc> {
        self.intake.writer.clock.now() + self.sweep * 2
    }

    /// The log gives us a job that is not on the desk: it was put down, its claim's answer was lost, or
    /// it panicked.
    async fn find_again(&self, job: JobId) {
        let writer = &self.intake.writer;
        match writer.log.open_job(job).await {
            // Put down again since it was missed.
            Ok(Some(row)) if row.due_at.is_some_and(|due| due > self.soon()) => return,
            Ok(Some(row)) if row.owner == Some(self.owner) && row.claims < CLAIMS_MAX => {}
            Ok(Some(row)) if row.claims >= CLAIMS_MAX => {
                return tracing::error!(%job, "the job is in quarantine: see `strata job show`");
            }
            _ => return,
        }
        if self.door.holds(job).await || writer.log.count_claims(&[job]).await.is_err() {
            return;
        }
        let folded = AssertUnwindSafe(writer.fold_job(job)).catch_unwind().await;
        match folded.unwrap_or(Err(LoadError::Panicked)) {
            Ok(mut held) if held.fence.owner == self.owner => {
                held.unsettled = true;
                self.door.bring(Input::Loaded(Box::new(held)));
            }
            Ok(_) => {}
            Err(error) => {
                tracing::error!(%job, %error, "an own job cannot be loaded");
                self.forgive(job, &error).await;
            }
        }
    }

    /// Only what may have killed somebody counts against a job.
    async fn forgive(&self, job: JobId, error: &LoadError) {
        if !error.is_transient() {
            return;
        }
        if let Err(error) = self.intake.writer.log.forgive(job).await {
            tracing::warn!(%job, %error, "a claim still counts against a job");
        }
    }
}
