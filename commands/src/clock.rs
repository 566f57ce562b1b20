//! The time of the database, read now and then and carried on in between.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

use crate::log::{Log, LogError};

/// A clock that all processes share, because it is the database's. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Clock {
    base: Arc<Mutex<(DateTime<Utc>, Instant)>>,
}

impl Clock {
    /// Reads the time of the store.
    pub async fn of(log: &dyn Log) -> Result<Self, LogError> {
        let now = log.now().await?;
        Ok(Self {
            base: Arc::new(Mutex::new((now, Instant::now()))),
        })
    }

    /// Reads it again: clocks drift.
    pub async fn adjust(&self, log: &dyn Log) -> Result<(), LogError> {
        let now = log.now().await?;
        *self.base.lock().unwrap_or_else(PoisonError::into_inner) = (now, Instant::now());
        Ok(())
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        let (base, since) = *self.base.lock().unwrap_or_else(PoisonError::into_inner);
        base + TimeDelta::from_std(since.elapsed()).unwrap_or(TimeDelta::MAX)
    }

    /// When this time comes, by the clock of the process.
    #[must_use]
    pub fn instant_of(&self, at: DateTime<Utc>) -> Instant {
        let (base, since) = *self.base.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead = (at - base).to_std().unwrap_or_default();
        since + ahead
    }
}
