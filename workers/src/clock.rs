//! The only place of this crate that asks for the time of day or for chance.

use chrono::{DateTime, Utc};
use domain::id::RunId;
use uuid::{Builder, Uuid};

/// A fresh run; ids sort by the time they were made.
#[expect(
    clippy::disallowed_methods,
    reason = "the worker is the shell that draws run ids"
)]
pub(crate) fn fresh_run() -> RunId {
    let millis = u64::try_from(Utc::now().timestamp_millis()).unwrap_or(0);
    let (high, low) = Uuid::new_v4().as_u64_pair();
    let mut random = [0; 10];
    let drawn = high
        .to_be_bytes()
        .into_iter()
        .take(5)
        .chain(low.to_be_bytes().into_iter().skip(3));
    random
        .iter_mut()
        .zip(drawn)
        .for_each(|(to, from)| *to = from);
    RunId(Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
}

/// The time of day, for people: log lines, and when an item was registered.
#[expect(
    clippy::disallowed_methods,
    reason = "the worker is the shell that stamps log lines and items"
)]
pub(crate) fn now() -> DateTime<Utc> {
    Utc::now()
}

/// A number below `limit` that differs from call to call; 0 for limit 0.
#[expect(
    clippy::disallowed_methods,
    reason = "retries of many workers must not fall together"
)]
pub(crate) fn chance(limit: u64) -> u64 {
    let (high, _) = Uuid::new_v4().as_u64_pair();
    high.checked_rem(limit).unwrap_or(0)
}
