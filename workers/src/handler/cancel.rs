//! How a handler learns that it should end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;

/// Why a handler should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    /// The worker leaves: save a checkpoint and return; the task runs again elsewhere.
    Shutdown,
    /// It took longer than allowed.
    Timeout,
    /// Its result no longer counts.
    Stopped,
}

/// The wish that a run ends. Clones are the same wish.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    token: CancellationToken,
    stopped: CancellationToken,
    reason: AtomicU8,
}

impl Cancel {
    /// Whether the handler should end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.token.is_cancelled()
    }

    /// Returns when the handler should end.
    pub async fn cancelled(&self) {
        self.0.token.cancelled().await;
    }

    /// Why, if it should; being stopped outweighs the others.
    #[must_use]
    pub fn reason(&self) -> Option<CancelReason> {
        match self.0.reason.load(Ordering::Acquire) {
            0 => None,
            1 => Some(CancelReason::Shutdown),
            2 => Some(CancelReason::Timeout),
            _ => Some(CancelReason::Stopped),
        }
    }

    /// Asks the run to end.
    pub(crate) fn cancel(&self, reason: CancelReason) {
        let weight = match reason {
            CancelReason::Shutdown => 1,
            CancelReason::Timeout => 2,
            CancelReason::Stopped => 3,
        };
        self.0.reason.fetch_max(weight, Ordering::AcqRel);
        self.0.token.cancel();
        if reason == CancelReason::Stopped {
            self.0.stopped.cancel();
        }
    }

    /// Returns when the result of the run no longer counts.
    pub(crate) async fn stopped(&self) {
        self.0.stopped.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn being_stopped_outweighs_other_reasons() {
        let cancel = Cancel::default();
        assert_eq!(cancel.reason(), None);
        cancel.cancel(CancelReason::Stopped);
        cancel.cancel(CancelReason::Shutdown);
        assert_eq!(cancel.reason(), Some(CancelReason::Stopped));
        assert!(cancel.is_cancelled());
    }
}
