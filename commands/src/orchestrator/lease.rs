//! The lease: renewed as long as this process really works, and what must hold before others are robbed.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::id::{JobId, OwnerId};
use domain::job::Policy;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::door::{Door, Input};
use super::intake::Intake;
use super::reports::PING;

/// How long an answer to oneself may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keeps the lease of one orchestrator, and looks after what no message brings.
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
    pub(super) run_silence: Duration,
    /// Nobody is robbed before we ourselves have been well for a while.
    pub(super) trusted_from: Mutex<Instant>,
    /// Jobs on their way to the desk.
    pub(super) loading: Mutex<HashSet<JobId>>,
}

impl Keeper {
    /// Works until the end. The lease is renewed whatever the others take their time for.
    pub(super) async fn run(self, shutdown: CancellationToken) {
        *locked(&self.trusted_from) = Instant::now() + self.beat;
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = self.keep() => {}
            () = self.listen_to_itself() => {}
            () = self.look_for_orphans() => {}
            () = self.look_after() => {}
        }
    }

    async fn keep(&self) {
        let mut beats = every(self.beat);
        let mut last = Instant::now();
        loop {
            beats.tick().await;
            let renewed = self.renew().await;
            let late = last.elapsed() > self.beat + self.stale / 2;
            match renewed {
                Ok(()) if !late => last = Instant::now(),
                Ok(()) => {
                    // Whoever else was held up as long looks dead to us, and is not.
                    tracing::warn!("the lease was renewed late");
                    last = Instant::now();
                    *locked(&self.trusted_from) = last + self.stale;
                }
                Err(reason) => {
                    tracing::warn!(reason, "the lease was not renewed");
                    *locked(&self.trusted_from) = Instant::now() + self.stale;
                }
            }
        }
    }

    /// Renews the lease, if this process really works: the desk turns and reports arrive.
    async fn renew(&self) -> Result<(), String> {
        let patience = self.beat.min(PATIENCE);
        let load = tokio::time::timeout(patience, self.door.load()).await;
        load.ok().flatten().ok_or("the desk does not turn")?;
        self.ping(patience).await?;
        let log = &self.intake.writer.log;
        let owners = log.beat(self.owner, &self.host, self.stale).await;
        let owners = owners.map_err(|error| error.to_string())?;
        self.door.bring(Input::Owners(owners));
        let adjusted = self.intake.writer.clock.adjust(&**log).await;
        adjusted.map_err(|error| error.to_string())
    }

    /// Sends a report to itself and waits for the answer.
    async fn ping(&self, patience: Duration) -> Result<(), String> {
        let bus = &self.intake.bus;
        let request = bus
            .client
            .request(bus.subjects.report(self.owner), PING.into());
        match tokio::time::timeout(patience, request).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(format!("reports do not arrive: {error}")),
            Err(_) => Err("reports do not arrive".to_owned()),
        }
    }

    /// Tells the desk that messages arrive: while they do not, silence of others means nothing.
    async fn listen_to_itself(&self) {
        let mut pings = every(self.run_silence / 6);
        loop {
            pings.tick().await;
            if self.ping(self.run_silence / 6).await.is_ok() {
                self.door.bring(Input::Hears);
            }
        }
    }
}

/// The content of a lock; nothing that panics holds one.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn every(period: Duration) -> tokio::time::Interval {
    let mut ticks = interval(period.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
