//! Runs a projector: one leader among all processes, each event once, in order.
//!
//! A transaction begins with compare-and-set on the checkpoint (position, version, epoch of the
//! lead), so that a leader who was away too long cannot write. What a projector keeps in memory
//! is dropped whenever a transaction did not commit.

use std::sync::Arc;
use std::time::Duration;

use bus::metric;
use sqlx::{Connection, PgConnection, PgPool};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use crate::store::checkpoints::{self, Claim, Lead};
use crate::store::log::{self, Entry};

/// A leader that says nothing for so long is replaced.
pub(crate) const LEAD_TTL: Duration = Duration::from_millis(2_500);
/// How often an idle leader renews, at least.
const RENEW_EVERY: Duration = Duration::from_millis(500);
/// How often to look at the log, or at the lead, when nobody gives a hint.
const POLL_EVERY: Duration = Duration::from_millis(250);
/// A projector that wants only some types waits so long for more to come: most hints are none of its business.
const GATHER: Duration = Duration::from_millis(20);
/// Events of one transaction, at most.
pub(crate) const BATCH_EVENTS_MAX: i64 = 5_000;
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Turns events into rows.
pub(crate) trait Projector: Send {
    fn name(&self) -> &'static str;
    /// Raised when the tables must be built anew.
    fn version(&self) -> i32;
    /// Whether tables of an older version are rebuilt, by whoever runs it.
    fn is_rebuilt(&self) -> bool {
        false
    }
    /// The only types of events that it wants; all of them if it does not say.
    fn kinds(&self) -> Option<&'static [&'static str]> {
        None
    }
    /// Forgets what is kept in memory.
    fn reset(&mut self);
    /// Its last batch is in the database.
    fn committed(&mut self) {}
    /// Writes what the batch changes; the caller commits.
    fn project(
        &mut self,
        db: &mut PgConnection,
        batch: Vec<Entry>,
    ) -> impl Future<Output = Result<(), Error>> + Send;
    /// Gives up the stream of an event whose rows the database refuses.
    fn park(
        &mut self,
        db: &mut PgConnection,
        entry: &Entry,
        error: String,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A projector with what it needs to run for ever.
pub(crate) struct Runner<P> {
    projector: P,
    pool: PgPool,
    owner: Uuid,
    wake: Arc<Notify>,
    lead: Option<Lead>,
    renewed: tokio::time::Instant,
    batch_max: i64,
    /// Up to here there is nothing for a projector that wants only some types, and the checkpoint says
    /// so at its next renewal: a log that is none of its business costs reads, and no writes.
    seen: i64,
    /// It has said that the tables are not its own.
    complained: bool,
    /// The tables are of an older version.
    outdated: bool,
}

/// Why a projector no longer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Stopped,
    /// Its tables must be built anew before it can lead.
    Outdated,
}

impl<P: Projector> Runner<P> {
    pub(crate) fn new(projector: P, pool: PgPool, owner: Uuid, wake: Arc<Notify>) -> Self {
        Self {
            projector,
            pool,
            owner,
            wake,
            lead: None,
            renewed: tokio::time::Instant::now(),
            batch_max: BATCH_EVENTS_MAX,
            seen: 0,
            complained: false,
            outdated: false,
        }
    }

    /// Works until it is told to stop, or finds tables that must be rebuilt; errors only slow it down.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> End {
        let mut backoff = Duration::from_millis(50);
        loop {
            let step = tokio::select! {
                () = shutdown.cancelled() => break,
                step = self.step() => step,
            };
            let pause = match step {
                Ok(true) => {
                    backoff = Duration::from_millis(50);
                    continue;
                }
                Ok(false) if self.outdated => return End::Outdated,
                Ok(false) => POLL_EVERY,
                Err(error) => {
                    self.forget();
                    let name = self.projector.name();
                    metrics::counter!(metric::PROJECTOR_ERRORS, "projector" => name).increment(1);
                    tracing::warn!(projector = self.projector.name(), error = %error.chain(), "projector stumbled");
                    backoff = (backoff * 2).min(BACKOFF_MAX);
                    backoff
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = self.woken(), if pause == POLL_EVERY => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.release().await;
        End::Stopped
    }

    /// The log has grown. A hint that comes during a step is kept for the next wait.
    async fn woken(&self) {
        self.wake.notified().await;
        if self.projector.kinds().is_some() {
            tokio::time::sleep(GATHER).await;
        }
    }

    /// One batch, or one look around; `true` if there may be more at once.
    pub(crate) async fn step(&mut self) -> Result<bool, Error> {
        let claim = self.claim();
        let Some(lead) = self.lead else {
            let found = checkpoints::ensure(&self.pool, claim).await?;
            if found < claim.version && self.projector.is_rebuilt() {
                self.outdated = true;
                return Ok(false);
            }
            if found != claim.version {
                self.complain(found);
                return Ok(false);
            }
            self.lead = checkpoints::take(&self.pool, claim, LEAD_TTL).await?;
            self.renewed = tokio::time::Instant::now();
            if let Some(lead) = self.lead {
                tracing::info!(
                    projector = claim.name,
                    epoch = lead.epoch,
                    pos = lead.pos,
                    "leads"
                );
                self.projector.reset();
            }
            return Ok(self.lead.is_some());
        };
        let (batch, last) = self.read(lead).await?;
        if batch.is_empty() {
            let more = last - self.seen.max(lead.pos) >= self.batch_max;
            self.seen = last;
            if self.renewed.elapsed() >= RENEW_EVERY {
                self.renew(lead, last).await?;
            }
            return Ok(more);
        }
        // The event that may have to be parked if it comes alone.
        let alone = (batch.len() == 1).then(|| batch.first().cloned()).flatten();
        let events = batch.len();
        let full = i64::try_from(events).is_ok_and(|events| events >= self.batch_max);
        match self.commit(lead, last, batch).await {
            Ok(()) => {
                self.batch_max = (self.batch_max * 2).min(BATCH_EVENTS_MAX);
                let name = self.projector.name();
                metrics::histogram!(metric::PROJECTOR_BATCH_EVENTS, "projector" => name)
                    .record(events as f64);
                // A projector that wants only some types may have read far more than it got.
                Ok(full || self.projector.kinds().is_some())
            }
            Err(error) if error.is_data() => {
                self.projector.reset();
                match alone {
                    Some(entry) => self.park(lead, &entry, error.chain()).await?,
                    // Somewhere in there is one event at fault: look for it by halves.
                    None => self.batch_max = i64::try_from(events / 2).unwrap_or(1).max(1),
                }
                Ok(true)
            }
            Err(error) => {
                // It may have been too much for one transaction.
                if !matches!(error, Error::LeadLost(_)) {
                    self.batch_max = i64::try_from(events / 2).unwrap_or(1).max(1);
                }
                Err(error)
            }
        }
    }

    /// The next events that the projector wants, and the position that it is at after them.
    async fn read(&self, lead: Lead) -> Result<(Vec<Entry>, i64), Error> {
        let after = self.seen.max(lead.pos);
        if let Some(kinds) = self.projector.kinds() {
            return Ok(log::after_of(&self.pool, after, self.batch_max, kinds).await?);
        }
        let batch = log::after(&self.pool, lead.pos, self.batch_max).await?;
        let last = batch.last().map_or(lead.pos, |entry| entry.pos);
        Ok((batch, last))
    }

    async fn commit(&mut self, lead: Lead, last: i64, batch: Vec<Entry>) -> Result<(), Error> {
        let claim = self.claim();
        let mut db = self.pool.acquire().await?;
        let mut tx = db.begin().await?;
        if !checkpoints::advance(&mut *tx, claim, lead, last, LEAD_TTL).await? {
            return Err(Error::LeadLost(claim.name));
        }
        self.projector.project(&mut tx, batch).await?;
        tx.commit().await?;
        self.projector.committed();
        self.moved_to(lead, last);
        Ok(())
    }

    async fn park(&mut self, lead: Lead, entry: &Entry, error: String) -> Result<(), Error> {
        let claim = self.claim();
        let mut db = self.pool.acquire().await?;
        let mut tx = db.begin().await?;
        if !checkpoints::advance(&mut *tx, claim, lead, entry.pos, LEAD_TTL).await? {
            return Err(Error::LeadLost(claim.name));
        }
        self.projector.park(&mut tx, entry, error).await?;
        tx.commit().await?;
        self.moved_to(lead, entry.pos);
        Ok(())
    }

    fn moved_to(&mut self, lead: Lead, pos: i64) {
        self.lead = Some(Lead { pos, ..lead });
        self.renewed = tokio::time::Instant::now();
    }

    async fn renew(&mut self, lead: Lead, pos: i64) -> Result<(), Error> {
        let claim = self.claim();
        if !checkpoints::advance(&self.pool, claim, lead, pos, LEAD_TTL).await? {
            return Err(Error::LeadLost(claim.name));
        }
        self.moved_to(lead, pos);
        Ok(())
    }

    pub(crate) async fn release(&mut self) {
        if let Some(lead) = self.lead.take()
            && let Err(error) = checkpoints::release(&self.pool, self.claim(), lead).await
        {
            tracing::debug!(%error, "the lead was not given up; it will run out");
        }
    }

    /// Says once that the tables are of another version.
    fn complain(&mut self, found: i32) {
        if std::mem::replace(&mut self.complained, true) {
            return;
        }
        let claim = self.claim();
        tracing::error!(
            projector = claim.name,
            "the tables were filled by version {found}, and this build is version {}; nothing is projected \
             here: run the build that fits",
            claim.version
        );
    }

    fn forget(&mut self) {
        self.lead = None;
        self.seen = 0;
        self.projector.reset();
    }

    fn claim(&self) -> Claim {
        Claim {
            name: self.projector.name(),
            version: self.projector.version(),
            owner: self.owner,
        }
    }
}
