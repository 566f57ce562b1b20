//! What became of one callback; stream `callback:<callback_id>`.
//!
//! A callback tells somebody outside how a job ended. That it is owed follows from the request and from
//! the end of the job, so the stream has nothing to say about that: it begins when the callback was
//! delivered or given up. Invariant: one logical callback has one id, which is the same at every try and
//! in every round; a new round begins only when a person asks for it.
//!
//! The rules of trying live here too, as values: pauses between tries, the breaker of an endpoint, and
//! the addresses that are never called.

mod address;
mod backoff;
mod breaker;
mod command;
mod decide;
mod event;
mod evolve;
mod rejection;
mod state;
#[cfg(test)]
mod tests;

pub use address::is_forbidden;
pub use backoff::Backoff;
pub use breaker::{Admission, Breaker, BreakerPolicy};
pub use command::{Command, Settlement};
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use rejection::Rejection;
pub use state::{Progress, State};

/// Tries after the first one, when a request says nothing.
pub const RETRY_COUNT: u32 = 11;
/// Seconds that one try may take, when a request says nothing.
pub const TIMEOUT_SECONDS: u32 = 30;
