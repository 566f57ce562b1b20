//! Dispatch: what the log says is sent goes to JetStream, and loss is noticed.
//!
//! Publishing is repeated for ever under the same message id, so a message that may or may not have
//! arrived is there once. Whether to send a task again under a new epoch is not decided here: this
//! only tells its owner the evidence.

mod evidence;
mod publisher;

pub use evidence::Unreachable;
pub use publisher::{Notice, Publisher};
