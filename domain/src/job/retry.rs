//! Whether and when to try again: a pure policy.

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};

use super::state::{Slot, State};
use crate::definition::graph::TaskSpec;
use crate::definition::model::{Backoff, Retry};
use crate::failure::FailureClass;
use crate::id::{JobId, NodeId};

/// When the attempt after `attempt` is due; `None` if there is none.
pub(super) fn retry_at(
    state: &State,
    slot: Slot,
    attempt: u32,
    class: FailureClass,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let task = state.graph.task(slot.node)?;
    let fail_fast = state.created.as_ref().is_some_and(|c| c.fail_fast);
    if attempt >= attempts_max(task.retry.as_ref(), class, fail_fast) {
        return None;
    }
    Some(now + pause(task, state.job_id(), &state.id(slot), attempt))
}

/// The wait of a node after `attempt` has failed.
pub(super) fn pause(task: &TaskSpec, job: JobId, node: &NodeId, attempt: u32) -> TimeDelta {
    let default = Retry::default();
    let retry = task.retry.as_ref().unwrap_or(&default);
    delay(retry, attempt, &format!("{job}_{node}"))
}

/// How often a task may run in total.
#[must_use]
pub fn attempts_max(retry: Option<&Retry>, class: FailureClass, fail_fast: bool) -> u32 {
    match retry {
        _ if fail_fast || !class.is_retryable() => 1,
        Some(retry) => retry.max_attempts.max(1),
        None => class.default_attempts_max(),
    }
}

/// The wait after `attempt` has failed. Jitter comes from a hash, not from chance.
#[must_use]
pub fn delay(retry: &Retry, attempt: u32, seed: &str) -> TimeDelta {
    let initial = u64::from(retry.initial_delay_seconds);
    let past = attempt.saturating_sub(1);
    let seconds = match retry.backoff {
        Backoff::Fixed => initial,
        Backoff::Linear => initial.saturating_mul(u64::from(past) + 1),
        Backoff::Exponential => initial.saturating_mul(1_u64.checked_shl(past).unwrap_or(u64::MAX)),
    };
    let mut delay_ms = seconds
        .min(u64::from(retry.max_delay_seconds))
        .saturating_mul(1_000);
    if retry.jitter {
        let hash = Sha256::digest(format!("{seed}_{attempt}"));
        let part = hash.first().map_or(0, |byte| u64::from(*byte));
        delay_ms -= delay_ms / 2 * part / 255;
    }
    TimeDelta::milliseconds(i64::try_from(delay_ms).unwrap_or(i64::MAX))
}
