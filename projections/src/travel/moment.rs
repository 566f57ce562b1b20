//! Which moment of the log somebody means.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Traveller;
use crate::Error;
use crate::store::log;
use crate::store::travel::{self as store, Recorded};

/// A moment as people name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// After the event at this position.
    Pos(i64),
    /// After everything that was recorded at this time or before it.
    Time(DateTime<Utc>),
}

/// A position of the log, and when it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Moment {
    pub pos: i64,
    pub recorded_at: DateTime<Utc>,
}

impl Traveller {
    /// The position that is meant. What has not happened yet, and what was before everything, are errors.
    pub async fn moment(&self, as_of: AsOf) -> Result<Moment, Error> {
        let found = match as_of {
            AsOf::Pos(pos) => {
                let head = log::head(&self.pool).await?;
                if pos > head {
                    let wanted = format!("position {pos}");
                    return Err(Error::Ahead { wanted, head });
                }
                store::at_pos(&self.pool, pos).await?
            }
            AsOf::Time(at) => {
                // The clock is asked before the log: what is recorded later is later than it.
                let now = store::now(&self.pool).await?;
                if at > now {
                    let head = log::head(&self.pool).await?;
                    let wanted = at.to_rfc3339();
                    return Err(Error::Ahead { wanted, head });
                }
                store::at_time(&self.pool, at).await?
            }
        };
        let Some(Recorded { pos, recorded_at }) = found else {
            return Err(Error::BeforeLog);
        };
        Ok(Moment { pos, recorded_at })
    }

    /// The end of the log, now.
    pub async fn now(&self) -> Result<Moment, Error> {
        let head = log::head(&self.pool).await?;
        self.moment(AsOf::Pos(head)).await
    }
}
