//! How many tasks of a queue run at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::{Notify, Semaphore};

/// A queue, as one worker serves it.
pub(super) struct Queue {
    pub(super) name: String,
    pub(super) slots: u32,
    used: AtomicU32,
    /// A slot became free.
    pub(super) freed: Notify,
    /// Finished tasks whose reports may wait without holding a slot.
    pub(super) reports: Semaphore,
}

/// The right to run one task; given back when all that hold it have dropped it.
pub(super) struct Slot(Arc<Queue>);

impl Queue {
    pub(super) fn new(name: String, slots: u32) -> Arc<Self> {
        let waiting = usize::try_from(slots)
            .unwrap_or(usize::MAX)
            .saturating_mul(4)
            .saturating_add(64);
        Arc::new(Self {
            name,
            slots,
            used: AtomicU32::new(0),
            freed: Notify::new(),
            reports: Semaphore::new(waiting.min(Semaphore::MAX_PERMITS)),
        })
    }

    pub(super) fn free(&self) -> u32 {
        self.slots.saturating_sub(self.used.load(Ordering::Acquire))
    }

    /// Takes a slot. Only the feeder of the queue does, so that what it saw free stays free.
    pub(super) fn take(self: &Arc<Self>) -> Slot {
        self.used.fetch_add(1, Ordering::AcqRel);
        Slot(Arc::clone(self))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::AcqRel);
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_slot_is_free_again() {
        let queue = Queue::new("q".to_owned(), 2);
        let first = queue.take();
        let _second = queue.take();
        assert_eq!(queue.free(), 0);
        drop(first);
        assert_eq!(queue.free(), 1);
    }
}
