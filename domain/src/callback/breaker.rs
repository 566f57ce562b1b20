//! The breaker of an endpoint: one that only fails is left alone for a while, without using up tries.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// It opens after so many failures in a row.
    pub failures_max: u32,
    /// The first time it is open for so long; twice as long each time the probe fails,
    pub open_first: Duration,
    /// up to this.
    pub open_max: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self {
            failures_max: 5,
            open_first: Duration::from_secs(30),
            open_max: Duration::from_secs(10 * 60),
        }
    }
}

/// How an endpoint has done lately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Breaker {
    /// Failures since the last success.
    pub failures: u32,
    /// How often in a row it has opened; 0 when it is closed.
    pub openings: u32,
    /// Until then nothing is sent; after it, one probe.
    pub open_until: Option<DateTime<Utc>>,
    /// A probe is under way, and is taken for lost after this.
    pub probe_until: Option<DateTime<Utc>>,
}

/// Whether something may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Free,
    /// One only, to see whether the endpoint is back.
    Probe,
    /// Not now.
    Closed,
}

impl Breaker {
    /// Whether something may be sent now.
    #[must_use]
    pub fn admit(&self, now: DateTime<Utc>) -> Admission {
        match (self.open_until, self.probe_until) {
            (None, _) => Admission::Free,
            (Some(open), _) if now < open => Admission::Closed,
            (Some(_), Some(probe)) if now < probe => Admission::Closed,
            (Some(_), _) => Admission::Probe,
        }
    }

    /// A probe leaves, and has so long to come back.
    #[must_use]
    pub fn probing(self, now: DateTime<Utc>, patience: Duration) -> Self {
        Self {
            probe_until: Some(later(now, patience)),
            ..self
        }
    }

    /// Something came back.
    #[must_use]
    pub fn record(self, ok: bool, now: DateTime<Utc>, policy: &BreakerPolicy) -> Self {
        if ok {
            return Self::default();
        }
        let failures = self.failures.saturating_add(1);
        let is_open = self.open_until.is_some_and(|until| now < until);
        // What was sent before it opened says nothing new.
        if failures < policy.failures_max || is_open {
            return Self { failures, ..self };
        }
        let doublings = self.openings.min(31);
        let pause = policy.open_first.saturating_mul(1 << doublings);
        Self {
            failures,
            openings: self.openings.saturating_add(1),
            open_until: Some(later(now, pause.min(policy.open_max))),
            probe_until: None,
        }
    }
}

fn later(now: DateTime<Utc>, by: Duration) -> DateTime<Utc> {
    let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
    now.checked_add_signed(by)
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}
