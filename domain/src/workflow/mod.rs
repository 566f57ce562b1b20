//! A workflow definition through its versions; stream `workflow:<id>`.
//!
//! Invariant: a version that was registered never changes its content. Registering a file again is
//! harmless, so every start of the platform may register all of its files; a changed file needs a
//! raised `version:`, because jobs pin the version they began with.

mod command;
mod decide;
mod event;
mod evolve;
mod rejection;
mod state;
#[cfg(test)]
mod tests;

pub use command::Command;
pub use decide::{SOURCE_BYTES_MAX, decide};
pub use event::Event;
pub use evolve::evolve;
pub use rejection::Rejection;
pub use state::{State, Version};
