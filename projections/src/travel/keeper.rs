//! Snapshots are made while jobs grow, tidied, and checked against the log.

use std::sync::Arc;
use std::time::Duration;

use domain::handler::Catalog;
use sha2::{Digest as _, Sha256};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use super::{EVERY, FOLD_KEY, Traveller, image};
use crate::Error;
use crate::store::{log, snapshots};

/// How often to look for jobs that have grown.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// Jobs of one look.
const JOBS_MAX: i64 = 16;
/// How many looks there are to one round of tidying.
const TIDY_EVERY: u32 = 40;

/// What became of a check of snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    pub checked: usize,
    /// Streams with a snapshot that is not what the log says.
    pub wrong: Vec<String>,
}

/// Makes snapshots of open jobs until it is told to stop. What it misses is made when somebody looks.
pub(crate) async fn keep(pool: PgPool, catalog: Arc<Catalog>, shutdown: CancellationToken) {
    let traveller = Traveller::new(pool, catalog);
    let mut looks = 0_u32;
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        let round = traveller.round(looks.is_multiple_of(TIDY_EVERY));
        let done = tokio::select! {
            () = shutdown.cancelled() => return,
            done = round => done,
        };
        if let Err(error) = done {
            tracing::debug!(error = %error.chain(), "no snapshots were made this time");
        }
        looks = looks.wrapping_add(1);
    }
}

impl Traveller {
    async fn round(&self, tidy: bool) -> Result<(), Error> {
        let head = log::head(&self.pool).await?;
        for stream in snapshots::wanting(&self.pool, FOLD_KEY, EVERY, JOBS_MAX).await? {
            self.fold(&stream, head, true).await?;
        }
        if tidy {
            let removed = snapshots::tidy(&self.pool, FOLD_KEY).await?;
            if removed > 0 {
                tracing::debug!(removed, "old snapshots were removed");
            }
        }
        Ok(())
    }
}

/// Folds the jobs of some snapshots at or before a position from their beginning, and compares.
pub async fn check_snapshots(
    pool: &PgPool,
    catalog: Arc<Catalog>,
    upto: i64,
    limit: i64,
) -> Result<Checked, Error> {
    let traveller = Traveller::new(pool.clone(), catalog);
    let mut done = Checked::default();
    for (stream, version, pos, hash) in snapshots::some(pool, FOLD_KEY, upto, limit).await? {
        let whole = traveller.fold(&stream, pos, false).await?;
        let whole = whole.filter(|whole| whole.version == version);
        let state = whole.map(|whole| image::write(&whole));
        let same = state.is_some_and(|state| Sha256::digest(&state)[..] == hash[..]);
        done.checked += 1;
        if !same {
            done.wrong.push(stream);
        }
    }
    Ok(done)
}
