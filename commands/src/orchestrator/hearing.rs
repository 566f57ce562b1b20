//! Whether this process hears at all. Who hears nothing must not take others for silent.

use std::time::Duration;

use tokio::time::Instant;

/// What is known about one's own ears: a message to oneself comes back every now and then.
#[derive(Debug)]
pub(super) struct Hearing {
    last: Instant,
    since: Instant,
}

impl Hearing {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            last: now,
            since: now,
        }
    }

    /// A message to oneself has arrived.
    pub(super) fn heard(&mut self, gap: Duration) {
        // It may be the first thing after a gap that nobody has noticed yet.
        self.since(gap);
        self.last = Instant::now();
    }

    /// Since when everything that was said was heard. A gap of `gap` begins it anew: the process was
    /// stopped, or had no connection.
    pub(super) fn since(&mut self, gap: Duration) -> Instant {
        if self.last.elapsed() > gap {
            self.since = Instant::now();
        }
        self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_gap_begins_hearing_anew() {
        let (gap, start) = (Duration::from_secs(10), Instant::now());
        let mut hearing = Hearing::new();
        for _ in 0..5 {
            tokio::time::advance(Duration::from_secs(9)).await;
            hearing.heard(gap);
            assert_eq!(hearing.since(gap), start);
        }
        tokio::time::advance(Duration::from_secs(11)).await;
        let anew = Instant::now();
        hearing.heard(gap);
        assert_eq!(hearing.since(gap), anew, "what comes back hides no gap");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(hearing.since(gap), anew);
    }
}
