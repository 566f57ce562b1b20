//! One piece of work that somebody asked for; stream `request:<request_id>`.
//!
//! A request is acknowledged before any job exists (O-20); the job comes later, with an id that
//! follows from the request's. Creating the stream is the dedupe: the same id with the same body is
//! the same request, with another body it is a conflict (C-05). Invariant: a request is assigned to
//! a job or withdrawn, never both.

mod command;
mod decide;
mod event;
mod evolve;
mod hash;
mod limits;
mod rejection;
mod state;
mod submission;
#[cfg(test)]
mod tests;

pub use command::Command;
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use hash::{body_hash, parameters_key};
pub use limits::{
    CALLBACK_RETRIES_MAX, CALLBACK_SECONDS_MAX, CALLBACKS_MAX, INPUT_BYTES_MAX, NAME_BYTES_MAX,
    REFS_BYTES_MAX, URL_BYTES_MAX,
};
pub use rejection::Rejection;
pub use state::{Progress, State};
pub use submission::{CallbackRef, Fork, Inputs, Submission};
