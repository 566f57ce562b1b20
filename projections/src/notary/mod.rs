//! The notary: grows the tree over the leaves of the log, and signs checkpoints of it.
//!
//! One leads among all that have a key. It signs every so many events, and a moment after the last one, and keeps
//! each checkpoint in a file of its own before it is in the database: whoever cuts the log there does not have
//! that file. It never signs a log that does not go on from what it signed before.

mod file;
pub(crate) mod nodes;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::event::Hash;
use domain::event::checkpoint::{Checkpoint, Signed, SigningKey};
use domain::event::tree::Compact;
use sqlx::{Connection as _, PgPool};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use crate::projector::LEAD_TTL;
use crate::store::checkpoints::{self, Claim, Lead};
use crate::store::tree::{self, LEVELS, Subtree};

pub use file::read as read_file;

/// Its name among the projectors.
pub const NAME: &str = "notary";
/// Raised when the tree must be built anew.
const VERSION: i32 = 1;
/// A checkpoint at least every so many events.
pub const EVERY: u32 = 10_000;
/// And at the latest so long after an event.
pub const LATEST: Duration = Duration::from_secs(2);
const POLL_EVERY: Duration = Duration::from_millis(250);
const RENEW_EVERY: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// What it signs with, and when.
#[derive(Debug)]
pub struct Options {
    pub key: SigningKey,
    /// Where its checkpoints are kept besides the database.
    pub file: PathBuf,
    pub every: u32,
    pub latest: Duration,
}

/// A notary that runs.
pub struct Notary {
    options: Arc<Options>,
    pool: PgPool,
    owner: Uuid,
    lead: Option<Lead>,
    tree: Compact,
    renewed: Instant,
    /// When it first saw events that no checkpoint covers.
    waiting_since: Option<Instant>,
}

impl Notary {
    #[must_use]
    pub fn new(options: Arc<Options>, pool: PgPool, owner: Uuid) -> Self {
        Self {
            options,
            pool,
            owner,
            lead: None,
            tree: Compact::default(),
            renewed: Instant::now(),
            waiting_since: None,
        }
    }

    /// Works until it is told to stop; errors only slow it down.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let mut pause = POLL_EVERY;
        loop {
            let step = tokio::select! {
                () = shutdown.cancelled() => break,
                step = self.step() => step,
            };
            match step {
                Ok(true) => continue,
                Ok(false) => pause = POLL_EVERY,
                Err(error) => {
                    self.lead = None;
                    pause = (pause * 2).min(BACKOFF_MAX);
                    match &error {
                        Error::Rewritten(_) => {
                            tracing::error!(error = %error.chain(), "run `strata audit verify`");
                        }
                        _ => tracing::warn!(error = %error.chain(), "the notary stumbled"),
                    }
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.release().await;
    }

    async fn release(&mut self) {
        if let Some(lead) = self.lead.take()
            && let Err(error) = checkpoints::release(&self.pool, self.claim(), lead).await
        {
            tracing::debug!(%error, "the lead was not given up; it will run out");
        }
    }

    /// Signs everything that is there now, without waiting for more, and lets others lead.
    pub async fn catch_up(&mut self) -> Result<(), Error> {
        while self.lead.is_none() {
            if !self.step().await? {
                return Err(Error::LeadLost(NAME));
            }
        }
        while let Some(lead) = self.lead {
            let (head, incarnation) = tree::head(&self.pool).await?;
            if head <= lead.pos {
                break;
            }
            self.sign(lead, incarnation).await?;
        }
        self.release().await;
        Ok(())
    }

    /// One look around, and one checkpoint if it is due; `true` if there may be more at once.
    async fn step(&mut self) -> Result<bool, Error> {
        let Some(lead) = self.lead else {
            return self.take_lead().await;
        };
        let (head, incarnation) = tree::head(&self.pool).await?;
        let waiting = u64::try_from(head - lead.pos).unwrap_or(0);
        if waiting == 0 {
            self.waiting_since = None;
            if head < lead.pos {
                return Err(Error::Rewritten(u64::try_from(lead.pos).unwrap_or(0)));
            }
        } else {
            let since = *self.waiting_since.get_or_insert_with(Instant::now);
            if waiting >= u64::from(self.options.every) || since.elapsed() >= self.options.latest {
                self.sign(lead, incarnation).await?;
                return Ok(true);
            }
        }
        if self.renewed.elapsed() >= RENEW_EVERY {
            self.advance(lead, lead.pos).await?;
        }
        Ok(false)
    }

    async fn take_lead(&mut self) -> Result<bool, Error> {
        let claim = self.claim();
        let found = checkpoints::ensure(&self.pool, claim).await?;
        if found != claim.version {
            tracing::debug!(
                found,
                "the tree is of another version; this build does not touch it"
            );
            return Ok(false);
        }
        let Some(lead) = checkpoints::take(&self.pool, claim, LEAD_TTL).await? else {
            return Ok(false);
        };
        tracing::info!(
            projector = claim.name,
            epoch = lead.epoch,
            pos = lead.pos,
            "leads"
        );
        self.renewed = Instant::now();
        let resumed = self.resume(lead).await;
        if resumed.is_err() {
            // Somebody else may have the file that fits.
            checkpoints::release(&self.pool, claim, lead).await?;
        }
        resumed?;
        Ok(true)
    }

    /// The tree as it was left, if the log still goes on from what was signed.
    async fn resume(&mut self, lead: Lead) -> Result<(), Error> {
        let size = u64::try_from(lead.pos).unwrap_or(0);
        let public = self.options.key.public();
        let kept = read_file(&self.options.file).await?;
        // Those of another key are not ours to judge; older ones are older trees of the newest.
        let newest = kept.iter().rfind(|signed| signed.verify(&public).is_ok());
        let (head, _) = tree::head(&self.pool).await?;
        let is_there = |size: u64| i64::try_from(size).is_ok_and(|size| size <= head);
        if !is_there(size) {
            return Err(Error::Rewritten(size));
        }
        if let Some(newest) = newest.map(|signed| &signed.checkpoint)
            && (!is_there(newest.size) || self.root_at(newest.size).await? != newest.root)
        {
            return Err(Error::Rewritten(newest.size));
        }
        let mut nodes = nodes::Nodes::new(&self.pool, size);
        let peaks = nodes.of_places(&Compact::places(size)).await?;
        self.tree = Compact::resume(size, peaks).unwrap_or_default();
        self.lead = Some(lead);
        Ok(())
    }

    async fn root_at(&self, size: u64) -> Result<Hash, Error> {
        let mut nodes = nodes::Nodes::new(&self.pool, size);
        let peaks = nodes.of_places(&Compact::places(size)).await?;
        Ok(domain::event::tree::join(&peaks))
    }

    /// One checkpoint, of as many events as come to one.
    async fn sign(&mut self, lead: Lead, incarnation: Uuid) -> Result<(), Error> {
        let upto = lead.pos + i64::from(self.options.every);
        let Some(end) = tree::batch_end(&self.pool, lead.pos, upto).await? else {
            return Ok(());
        };
        let mut grown = self.tree.clone();
        let subtrees = self.grow(&mut grown, lead.pos, end.last_pos).await?;
        let chain: Hash = end.hash.try_into().map_err(|_| Error::Gap(grown.size()))?;
        let checkpoint = Checkpoint {
            incarnation,
            size: grown.size(),
            root: grown.root(),
            chain,
            recorded_at_micros: end.recorded_at.timestamp_micros(),
        };
        let signed = checkpoint.sign(&self.options.key);
        // It is true whatever becomes of the transaction.
        file::append(&self.options.file, &signed).await?;
        self.keep(lead, end.last_pos, &signed, &subtrees).await?;
        self.tree = grown;
        self.waiting_since = None;
        Ok(())
    }

    /// Adds the leaves after `after`, and gives the subtrees that are kept.
    async fn grow(
        &self,
        grown: &mut Compact,
        after: i64,
        upto: i64,
    ) -> Result<Vec<Subtree>, Error> {
        let mut subtrees = Vec::new();
        for (pos, leaf) in tree::leaves(&self.pool, after + 1, upto).await? {
            let expected = grown.size() + 1;
            let leaf: Hash = leaf.try_into().map_err(|_| Error::Gap(expected))?;
            if u64::try_from(pos) != Ok(expected) {
                return Err(Error::Gap(expected));
            }
            grown.push(&leaf, |place, hash| {
                if place.level > 0 && place.level.is_multiple_of(LEVELS) {
                    let (level, nth) = (place.level, place.index);
                    subtrees.push(Subtree { level, nth, hash });
                }
            });
        }
        match u64::try_from(upto) == Ok(grown.size()) {
            true => Ok(subtrees),
            false => Err(Error::Gap(grown.size() + 1)),
        }
    }

    async fn keep(
        &mut self,
        lead: Lead,
        pos: i64,
        signed: &Signed,
        subtrees: &[Subtree],
    ) -> Result<(), Error> {
        let claim = self.claim();
        let every = i64::from(self.options.every);
        let mut db = self.pool.acquire().await?;
        let mut tx = db.begin().await?;
        if !checkpoints::advance(&mut *tx, claim, lead, pos, LEAD_TTL).await? {
            return Err(Error::LeadLost(claim.name));
        }
        tree::keep_subtrees(&mut *tx, subtrees).await?;
        let kept = pos / every > lead.pos / every;
        let key_id = signed.fingerprint();
        tree::keep_checkpoint(&mut tx, pos, &signed.note(), &key_id, kept).await?;
        tx.commit().await?;
        self.lead = Some(Lead { pos, ..lead });
        self.renewed = Instant::now();
        Ok(())
    }

    async fn advance(&mut self, lead: Lead, pos: i64) -> Result<(), Error> {
        if !checkpoints::advance(&self.pool, self.claim(), lead, pos, LEAD_TTL).await? {
            return Err(Error::LeadLost(NAME));
        }
        self.lead = Some(Lead { pos, ..lead });
        self.renewed = Instant::now();
        Ok(())
    }

    fn claim(&self) -> Claim {
        Claim {
            name: NAME,
            version: VERSION,
            owner: self.owner,
        }
    }
}
