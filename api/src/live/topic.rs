//! What one group of subscribers listens to, with the tail of what it said.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use projections::read::LogEvent;
use tokio::sync::watch;

/// Events and bytes that a topic keeps for whoever is a little late.
const EVENTS_MAX: usize = 512;
const BYTES_MAX: usize = 1024 * 1024;

/// Which events belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum TopicId {
    /// One stream: a job or an asset.
    Stream(Arc<str>),
    /// Everything of one organisation.
    Org(Arc<str>),
}

pub(super) struct Topic {
    tail: Mutex<Tail>,
    news: watch::Sender<i64>,
}

struct Tail {
    /// Everything of the topic after this position is in the queue.
    floor: i64,
    bytes: usize,
    events: VecDeque<Arc<LogEvent>>,
}

impl Topic {
    pub(super) fn new(floor: i64) -> Self {
        let tail = Tail {
            floor,
            bytes: 0,
            events: VecDeque::new(),
        };
        Self {
            tail: Mutex::new(tail),
            news: watch::channel(floor).0,
        }
    }

    pub(super) fn push(&self, event: Arc<LogEvent>) {
        let mut tail = self.tail();
        tail.bytes += event.payload.len();
        tail.events.push_back(event);
        while tail.events.len() > EVENTS_MAX || tail.bytes > BYTES_MAX && tail.events.len() > 1 {
            if let Some(gone) = tail.events.pop_front() {
                tail.bytes -= gone.payload.len();
                tail.floor = gone.pos;
            }
        }
    }

    /// Tells everybody who waits, once for many events.
    pub(super) fn wake(&self) {
        let last = self.tail().events.back().map(|event| event.pos);
        if let Some(last) = last {
            self.news.send_replace(last);
        }
    }

    pub(super) fn news(&self) -> watch::Receiver<i64> {
        self.news.subscribe()
    }

    /// What comes after `pos`; nothing if that is no longer here, but in the log.
    pub(super) fn after(&self, pos: i64, max: usize) -> Option<Vec<Arc<LogEvent>>> {
        let tail = self.tail();
        if pos < tail.floor {
            return None;
        }
        let from = tail.events.partition_point(|event| event.pos <= pos);
        let events = tail.events.range(from..).take(max);
        Some(events.cloned().collect())
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
