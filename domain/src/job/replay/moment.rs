//! When a recorded decision was made: the log has the times that were decided, not the moment itself.
//!
//! A decision writes `now` plus what a rule says. So `now` is the recorded time minus what today's rule says of the
//! definition that the job has pinned: exact, if that rule is still the same. If it is not, the moment does not fit
//! to what is known about it, and the decision is made at the best guess and differs.

use chrono::{DateTime, TimeDelta, Utc};

use super::Rules;
use super::entry::Entry;
use crate::definition::Graph;
use crate::id::NodeId;
use crate::job::event::Event;
use crate::job::retry::pause;
use crate::job::{Policy, State};

/// Clocks of owners follow that of the database, and never so far apart.
pub const CLOCKS_APART_MAX: TimeDelta = TimeDelta::seconds(5);

/// What is known of the time so far.
#[derive(Default)]
pub(super) struct Moments {
    /// The latest decision whose moment is known.
    last: Option<DateTime<Utc>>,
}

impl Moments {
    /// When the decision was made that an entry begins with.
    pub(super) fn of(&self, entry: &Entry, rules: &Rules, state: &State) -> DateTime<Utc> {
        self.exact(entry, rules, state)
            .unwrap_or_else(|| self.guess(Some(entry)))
    }

    /// An entry lies behind.
    pub(super) fn passed(&mut self, entry: &Entry, rules: &Rules, state: &State) {
        self.last = self.last.max(self.exact(entry, rules, state));
    }

    /// The moment that the event tells, if it can have been then: not before the last decision, and not after the
    /// commit.
    fn exact(&self, entry: &Entry, rules: &Rules, state: &State) -> Option<DateTime<Utc>> {
        let at = said(&entry.event, state, &rules.pinned, &rules.policy)?;
        let is_after = self.last.is_none_or(|last| at >= last - CLOCKS_APART_MAX);
        (is_after && at == self.no_later(at, entry)).then_some(at)
    }

    /// A moment, but not one after the commit.
    pub(super) fn no_later(&self, at: DateTime<Utc>, entry: &Entry) -> DateTime<Utc> {
        match entry.recorded_at {
            Some(recorded) if at > recorded + CLOCKS_APART_MAX => recorded,
            _ => at,
        }
    }

    /// The best that can be said without the event.
    pub(super) fn guess(&self, entry: Option<&Entry>) -> DateTime<Utc> {
        let known = entry.and_then(|entry| entry.recorded_at).or(self.last);
        known.unwrap_or(DateTime::UNIX_EPOCH)
    }
}

/// The moment that follows from the times in an event.
fn said(event: &Event, state: &State, pinned: &Graph, policy: &Policy) -> Option<DateTime<Utc>> {
    let task = |node: &NodeId| pinned.find(&node.name).and_then(|ix| pinned.task(ix));
    let before = |at: &DateTime<Utc>, delta: TimeDelta| at.checked_sub_signed(delta);
    let seconds = |seconds: u32| TimeDelta::seconds(i64::from(seconds));
    match event {
        // The first claim gives no grace: nothing is at work yet.
        Event::JobClaimed { grace_until, .. } if state.claim.is_none() => Some(*grace_until),
        Event::NodeDispatched(sent) => {
            let wait = task(&sent.node)?.dispatch_timeout_seconds;
            before(&sent.deadline_at, seconds(wait))
        }
        Event::NodeRedispatched {
            node, deadline_at, ..
        } => before(deadline_at, seconds(task(node)?.dispatch_timeout_seconds)),
        Event::NodeStarted {
            node, deadline_at, ..
        } => {
            let grace = TimeDelta::from_std(policy.execution_grace).ok()?;
            before(deadline_at, seconds(task(node)?.timeout_seconds) + grace)
        }
        Event::NodeFailed(failed) => match (failed.failed_at, failed.retry_at) {
            (Some(at), _) => Some(at),
            (None, Some(retry_at)) => {
                let (node, attempt) = (&failed.node, failed.attempt);
                before(&retry_at, pause(task(node)?, state.job_id(), node, attempt))
            }
            (None, None) => None,
        },
        Event::JobCompleted { result } => {
            let at = result.get("_provenance")?.get("completed_at")?.as_str()?;
            at.parse().ok()
        }
        _ => None,
    }
}
