//! What can be asked of a workflow definition.

use crate::handler::Pins;

/// A wish that [`decide`](super::decide()) grants or refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Makes a version known, or confirms that it is.
    Register {
        version: u32,
        /// The SHA-256 of the canonical content: comments and key order do not count.
        hash: String,
        /// The file as its author wrote it.
        source: String,
        /// What the file leaves to its handlers, as this build declares them.
        handlers: Pins,
    },
    /// Says again what is known, so that older events can be archived.
    Carry,
}
