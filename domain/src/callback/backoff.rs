//! Pauses between tries.

use std::time::Duration;

/// Doubles with every failure, up to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub max: Duration,
}

impl Default for Backoff {
    /// Twelve tries take about four hours.
    fn default() -> Self {
        Self {
            first: Duration::from_secs(5),
            max: Duration::from_secs(30 * 60),
        }
    }
}

impl Backoff {
    /// The pause after so many failed tries. `chance` is any number: it spreads the pause over three
    /// to five quarters, so that callbacks that failed together do not come back together.
    #[must_use]
    pub fn pause(&self, failures: u32, chance: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let plain = self.first.saturating_mul(1 << doublings).min(self.max);
        let part = plain.saturating_mul(750 + chance % 501) / 1_000;
        part.min(self.max)
    }
}
