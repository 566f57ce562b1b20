//! What time brings: timeouts, and retries that are due.

use chrono::{DateTime, TimeDelta, Utc};

use super::command::Context;
use super::decide::failed;
use super::event::Event;
use super::state::{Slot, State};
use super::status::NodeStatus;
use crate::failure::{Failure, FailureClass};

/// Timers that one decision handles; the next `TimePassed` takes the rest.
const TIMERS_MAX: usize = 250;

/// Code of the failure of a task that nobody took,
pub(super) const DISPATCH_TIMEOUT: &str = "dispatch_timeout";
/// and of one that did not end.
pub(super) const EXECUTION_TIMEOUT: &str = "execution_timeout";

/// Code and message of a timeout that the owner finds.
pub(super) fn timed_out(code: &'static str) -> (&'static str, &'static str) {
    match code {
        DISPATCH_TIMEOUT => (code, "no worker took the task in time"),
        _ => (code, "the task took longer than allowed"),
    }
}

/// A point in time some seconds later.
pub(super) fn after(now: DateTime<Utc>, seconds: u32) -> DateTime<Utc> {
    now + TimeDelta::seconds(i64::from(seconds))
}

pub(super) fn decide(state: &State, ctx: &Context) -> Vec<Event> {
    let now_ms = ctx.now.timestamp_millis();
    let in_grace = ctx.now < state.grace_until;
    let mut retries = Vec::new();
    let mut events = Vec::new();
    let is_retry = |slot: &Slot| {
        state
            .work(*slot)
            .is_some_and(|w| w.status == NodeStatus::Failed)
    };
    let due = state
        .timers
        .iter()
        .take_while(|(due_ms, _)| *due_ms <= now_ms)
        .filter(|(_, slot)| !in_grace || is_retry(slot))
        .take(TIMERS_MAX);
    for (_, slot) in due {
        let Some(work) = state.work(*slot) else {
            continue;
        };
        let (code, what) = match work.status {
            NodeStatus::Failed => {
                retries.push(state.id(*slot));
                continue;
            }
            NodeStatus::Dispatched => timed_out(DISPATCH_TIMEOUT),
            NodeStatus::Running => timed_out(EXECUTION_TIMEOUT),
            NodeStatus::Pending
            | NodeStatus::Ready
            | NodeStatus::Completed
            | NodeStatus::Skipped => {
                continue;
            }
        };
        let failure = Failure::new(FailureClass::Timeout, code, what);
        let mut more = failed(state, *slot, work.run, failure, ctx);
        let ends = more.iter().any(|e| matches!(e, Event::JobFailed { .. }));
        events.append(&mut more);
        if ends {
            return events;
        }
    }
    if !retries.is_empty() {
        events.push(Event::NodesReady { nodes: retries });
    }
    events
}

impl State {
    /// When `TimePassed` will next have something to do.
    #[must_use]
    pub fn next_due(&self) -> Option<DateTime<Utc>> {
        let is_retry = |slot: &Slot| {
            self.work(*slot)
                .is_some_and(|w| w.status == NodeStatus::Failed)
        };
        let (first_ms, first) = self.timers.first()?;
        let grace_ms = self.grace_until.timestamp_millis();
        if *first_ms >= grace_ms || is_retry(first) {
            return DateTime::from_timestamp_millis(*first_ms);
        }
        // Timeouts wait for the end of the grace period, retries do not.
        let mut early = self
            .timers
            .iter()
            .take_while(|(due_ms, _)| *due_ms < grace_ms);
        let retry_ms = early
            .find(|(_, slot)| is_retry(slot))
            .map(|(due_ms, _)| *due_ms);
        DateTime::from_timestamp_millis(retry_ms.unwrap_or(grace_ms))
    }
}
