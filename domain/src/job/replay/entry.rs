//! An event of a job as the log has it, and the history that replay reads ahead in.

use std::collections::VecDeque;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use uuid::Uuid;

use crate::job::{Event, Fence};

/// One event with what was recorded beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub pos: u64,
    pub version: u64,
    /// When its batch was committed; a file of a proof does not say.
    pub recorded_at: Option<DateTime<Utc>>,
    /// Events of one append have the same; those of another have another.
    pub append: Option<Uuid>,
    /// The claim under which it was written. Wishes from outside have none.
    pub fence: Option<Fence>,
    pub event: Event,
}

/// What replay reads of an event's metadata.
#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    command_id: Option<Uuid>,
    #[serde(default)]
    causation: Option<String>,
}

impl Entry {
    /// An event at its place. Metadata that cannot be read says nothing.
    #[must_use]
    pub fn new(
        (pos, version): (u64, u64),
        recorded_at: Option<DateTime<Utc>>,
        meta: &[u8],
        event: Event,
    ) -> Self {
        let meta: Meta = serde_json::from_slice(meta).unwrap_or_default();
        Self {
            pos,
            version,
            recorded_at,
            append: meta.command_id,
            fence: meta.causation.as_deref().and_then(Fence::of_cause),
            event,
        }
    }

    /// Whether somebody wished it who did not own the job: such events stand between the appends of the owner.
    pub(super) fn is_wish(&self) -> bool {
        matches!(
            self.event,
            Event::JobPaused { .. } | Event::JobResumed | Event::JobCancelled { .. }
        )
    }

    /// Whether it changes nothing that the rest of a decision rests on, so that this may come behind it.
    pub(super) fn is_flag(&self) -> bool {
        matches!(self.event, Event::JobPaused { .. } | Event::JobResumed)
    }
}

/// A history, read no further than needed.
pub(super) struct Ahead<I> {
    rest: I,
    seen: VecDeque<Entry>,
}

impl<I: Iterator<Item = Entry>> Ahead<I> {
    pub(super) fn new(rest: I) -> Self {
        Self {
            rest,
            seen: VecDeque::new(),
        }
    }

    /// The entry that comes after `nth` others.
    pub(super) fn get(&mut self, nth: usize) -> Option<&Entry> {
        while self.seen.len() <= nth {
            self.seen.push_back(self.rest.next()?);
        }
        self.seen.get(nth)
    }

    pub(super) fn next(&mut self) -> Option<Entry> {
        self.seen.pop_front().or_else(|| self.rest.next())
    }
}
