//! From the end of the fill to the switch: what the log has gained is projected the ordinary way, up to where the live
//! read models are; then both stand at one position, and the tables change places in one short transaction.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection};

use super::ordinary::{self, Mark};
use super::{Phase, RebuildError, Run};
use crate::Error;
use crate::projector::{BATCH_EVENTS_MAX, Projector as _};
use crate::read_models::{NAME, ReadModels};
use crate::store::next::{self, Mismatch};
use crate::store::{checkpoints, log, rebuilds};

/// What may be left to be projected while the live projector waits for us.
const GAP_MAX: i64 = 500;
/// How long to wait before locks are tried again, growing.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The rebuilt read models on their way to the live ones.
pub(super) struct Follower<'a> {
    run: &'a Run,
    models: ReadModels,
    pos: i64,
}

impl<'a> Follower<'a> {
    pub(super) fn new(run: &'a Run, pos: i64) -> Self {
        Self {
            run,
            models: run.models(),
            pos,
        }
    }

    /// Projects until not much is left.
    async fn near(&mut self, db: &mut PgConnection) -> Result<(), RebuildError> {
        loop {
            let live = checkpoints::position(&mut *db, NAME)
                .await
                .map_err(Error::from)?;
            self.run.say(Phase::Follow, self.pos, live);
            if live - self.pos <= GAP_MAX {
                return Ok(());
            }
            self.reach(db, live).await?;
        }
    }

    /// Projects up to a position.
    async fn reach(&mut self, db: &mut PgConnection, live: i64) -> Result<(), RebuildError> {
        while self.pos < live {
            let limit = BATCH_EVENTS_MAX.min(live - self.pos);
            let batch = log::after(&mut *db, self.pos, limit)
                .await
                .map_err(Error::from)?;
            let last = batch.last().map(|entry| entry.pos);
            let last = last.ok_or(RebuildError::Gap(self.pos))?;
            let mark = Mark::From(self.pos);
            ordinary::project(&mut self.models, db, self.run.hold, batch, mark).await?;
            self.pos = last;
        }
        Ok(())
    }

    /// Compares both sets at one position, as one moment shows them; nobody waits for it but whoever asked.
    pub(super) async fn compare(&mut self) -> Result<Option<Mismatch>, RebuildError> {
        let mut db = self.run.pool.acquire().await.map_err(Error::from)?;
        let mut pause = PAUSE;
        let mut moment = self.run.pool.acquire().await.map_err(Error::from)?;
        let mut seen = loop {
            self.near(&mut db).await?;
            match self.one_moment(&mut db, &mut moment).await {
                Ok(Some(tx)) => break tx,
                Ok(None) => continue,
                Err(error) if error.is_locked() => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        };
        let mut db = self.run.pool.acquire().await.map_err(Error::from)?;
        self.run
            .enter(&mut db, Phase::Compare, self.pos, self.pos)
            .await?;
        drop(db);
        let tables = next::tables(&mut *seen).await.map_err(Error::from)?;
        let all = i64::try_from(tables.len()).unwrap_or(0);
        for (table, done) in tables.iter().zip(0..) {
            self.run.say(Phase::Compare, done, all);
            if let Some(found) = next::first_mismatch(&mut seen, table)
                .await
                .map_err(Error::from)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A transaction that sees both sets at one position; `None` if it got too far meanwhile.
    async fn one_moment<'c>(
        &mut self,
        db: &mut PgConnection,
        moment: &'c mut PgConnection,
    ) -> Result<Option<sqlx::Transaction<'c, sqlx::Postgres>>, RebuildError> {
        let mut guard = self.run.pool.acquire().await.map_err(Error::from)?;
        let mut held = guard.begin().await.map_err(Error::from)?;
        let live = next::hold_live(&mut held, NAME)
            .await
            .map_err(Error::from)?;
        if live - self.pos > GAP_MAX {
            return Ok(None);
        }
        self.reach(db, live).await?;
        let mut seen = moment.begin().await.map_err(Error::from)?;
        let (live, rebuilt) = next::freeze(&mut seen, NAME).await.map_err(Error::from)?;
        held.rollback().await.map_err(Error::from)?;
        Ok((live == rebuilt).then_some(seen))
    }

    /// Makes the rebuilt read models the live ones; the position at which they became it.
    pub(super) async fn switch(&mut self) -> Result<i64, RebuildError> {
        let mut db = self.run.pool.acquire().await.map_err(Error::from)?;
        let mut pause = PAUSE;
        loop {
            self.near(&mut db).await?;
            match self.try_switch(&mut db).await {
                Ok(Some(pos)) => return Ok(pos),
                Ok(None) => continue,
                Err(error) if error.is_locked() => {
                    tracing::debug!("the tables are in use; the switch is tried again");
                }
                Err(RebuildError::Read(error)) if error.is_data() => {
                    // An event in the gap cannot be projected: outside of the switch its stream is parked.
                    self.models.reset();
                    let live = checkpoints::position(&mut *db, NAME)
                        .await
                        .map_err(Error::from)?;
                    self.reach(&mut db, live).await?;
                }
                Err(error) => return Err(error),
            }
            self.models.reset();
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// `None` if the live read models have gone too far ahead.
    async fn try_switch(&mut self, db: &mut PgConnection) -> Result<Option<i64>, RebuildError> {
        let mut tx = db.begin().await.map_err(Error::from)?;
        next::calm(&mut tx).await.map_err(Error::from)?;
        let live = next::hold_live(&mut tx, NAME).await.map_err(Error::from)?;
        if live - self.pos > GAP_MAX {
            return Ok(None);
        }
        if live > self.pos {
            let gap = log::after(&mut *tx, self.pos, live - self.pos)
                .await
                .map_err(Error::from)?;
            if gap.last().map(|entry| entry.pos) != Some(live) {
                return Ok(None);
            }
            self.models.project(&mut tx, gap).await?;
        }
        let held = rebuilds::advance(&mut tx, self.run.hold, self.pos, live).await;
        if !held.map_err(Error::from)? {
            return Err(RebuildError::Lost);
        }
        let pos = next::switch(&mut tx, NAME).await.map_err(Error::from)?;
        tx.commit().await.map_err(Error::from)?;
        Ok(Some(pos))
    }
}
