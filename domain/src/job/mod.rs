//! A job: one request, executed as a graph of tasks.
//!
//! [`decide`](decide()) says what follows from a command, [`evolve`](evolve()) what an event changes; [`handle`] does
//! both and lets the engine go on by itself. A job knows nothing of platforms, requests or assets.
//!
//! Invariants: terminal is terminal; a node is dispatched once per attempt and epoch; a report of
//! another attempt, epoch or run changes nothing; the cost of a report does not depend on the size
//! of the job.

mod aggregate;
mod change;
pub mod checkpoint;
pub mod command;
mod decide;
mod dispatch;
mod engine;
pub mod event;
mod evolve;
mod fate;
mod group;
mod lanes;
mod rejection;
pub mod replay;
mod report;
mod result;
mod retry;
mod reuse;
mod scope;
mod state;
mod status;
#[cfg(test)]
mod tests;
mod time;
mod view;
mod why;

pub use command::{Command, Context, Fence, Intent, Policy};
pub use decide::{
    APPEND_EVENTS_MAX, EVENT_BYTES_MAX, EVENTS_MAX, claimed, decide, handle, intended,
};
pub use event::Event;
pub use evolve::{apply, evolve};
pub use fate::{Cause, Children, Fate, NodeFate};
pub use rejection::Rejection;
pub use report::OUTPUT_BYTES_MAX;
pub use retry::{attempts_max, delay};
pub use reuse::{FORK_POINTS_MAX, NoPlan, Plan, REUSED_BYTES_MAX, plan_fork, plan_retry};
pub use state::State;
pub use status::{JobStatus, NodeStatus};
pub use view::{Counts, NodeView};
pub use why::{Why, why};
