//! How many tasks of a queue run at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use domain::message::QueueSlots;
use tokio::sync::{Notify, Semaphore};

/// A queue, as one worker serves it.
pub(super) struct Queue {
    pub(super) name: String,
    pub(super) slots: u32,
    used: AtomicU32,
    /// Slots of handlers that went on after their time limit.
    hanging: AtomicU32,
    /// A slot became free.
    pub(super) freed: Notify,
    /// Finished tasks whose reports may wait without holding a slot.
    pub(super) reports: Semaphore,
}

/// The right to run one task; given back when all that hold it have dropped it.
pub(super) struct Slot {
    queue: Arc<Queue>,
    hangs: AtomicBool,
}

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
            hanging: AtomicU32::new(0),
            freed: Notify::new(),
            reports: Semaphore::new(waiting.min(Semaphore::MAX_PERMITS)),
        })
    }

    pub(super) fn of(slots: &QueueSlots) -> Arc<Self> {
        Self::new(slots.queue.clone(), slots.slots)
    }

    pub(super) fn free(&self) -> u32 {
        self.slots.saturating_sub(self.used.load(Ordering::Acquire))
    }

    /// Takes a slot. Only the feeder of the queue does, so that what it saw free stays free.
    pub(super) fn take(self: &Arc<Self>) -> Slot {
        self.used.fetch_add(1, Ordering::AcqRel);
        Slot {
            queue: Arc::clone(self),
            hangs: AtomicBool::new(false),
        }
    }

    /// A handler is past its time limit. If it does not end all the same, its slot is not announced any
    /// more, so that no work waits for it.
    pub(super) fn hangs(&self, slot: &Arc<Slot>, handler: &str) {
        // One that waits is gone by now, but for this hold on its slot.
        if Arc::strong_count(slot) > 1 && !slot.hangs.swap(true, Ordering::AcqRel) {
            self.hanging.fetch_add(1, Ordering::AcqRel);
            tracing::error!(
                queue = self.name,
                handler,
                "a handler goes on after its time limit; its slot is not used until it ends"
            );
        }
    }

    /// The slots that work can be sent for.
    pub(super) fn announced(&self) -> u32 {
        self.slots
            .saturating_sub(self.hanging.load(Ordering::Acquire))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if *self.hangs.get_mut() {
            self.queue.hanging.fetch_sub(1, Ordering::AcqRel);
        }
        self.queue.used.fetch_sub(1, Ordering::AcqRel);
        self.queue.freed.notify_one();
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

    #[test]
    fn a_slot_whose_handler_hangs_is_not_announced_until_it_ends() {
        let queue = Queue::new("q".to_owned(), 2);
        let slot = Arc::new(queue.take());
        queue.hangs(&slot, "handler");
        assert_eq!(queue.announced(), 2, "nobody else holds it");
        let handler = Arc::clone(&slot);
        queue.hangs(&slot, "handler");
        queue.hangs(&slot, "handler");
        drop(slot);
        assert_eq!(queue.announced(), 1);
        drop(handler);
        assert_eq!(queue.announced(), 2);
    }
}
