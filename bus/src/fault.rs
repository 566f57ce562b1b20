//! Fault points: places where a test build can be told to die, or to lose an answer. Without the
//! feature `faults` they are nothing at all.
//!
//! `STRATA_FAULT=name:n` makes the n-th passing of the point `name` the fatal one; only that one.

/// A place in the code that may be the last one.
#[cfg(feature = "faults")]
pub fn point(name: &str) {
    if strikes(name) {
        std::process::abort();
    }
}

/// Whether an answer is lost here.
#[cfg(feature = "faults")]
#[must_use]
pub fn strikes(name: &str) -> bool {
    use std::sync::atomic::{AtomicU64, Ordering};
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let Ok(wanted) = std::env::var("STRATA_FAULT") else {
        return false;
    };
    let (fault, nth) = wanted.split_once(':').unwrap_or((&wanted, "1"));
    let strikes =
        fault == name && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == nth.parse().unwrap_or(1);
    if strikes {
        tracing::error!(name, "a planted fault strikes");
    }
    strikes
}

/// A job that kills whoever makes or folds it: `STRATA_FAULT_JOB` names it.
#[cfg(feature = "faults")]
pub fn point_job(job: &impl std::fmt::Display) {
    if std::env::var("STRATA_FAULT_JOB").is_ok_and(|name| name == job.to_string()) {
        std::process::abort();
    }
}

/// Without the feature: nothing.
#[cfg(not(feature = "faults"))]
pub fn point(_name: &str) {}

/// Without the feature: nothing.
#[cfg(not(feature = "faults"))]
#[must_use]
pub fn strikes(_name: &str) -> bool {
    false
}

/// Without the feature: nothing.
#[cfg(not(feature = "faults"))]
pub fn point_job(_job: &impl std::fmt::Display) {}
