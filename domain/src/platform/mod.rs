//! The registry of B2B platforms and their id schemes; stream `platform:<id>`.
//!
//! A new partner is a new registration: no code, no migration (O-04). A platform declares which
//! refs identify an asset. Invariant: the required refs of a platform never change, because the
//! id of every asset of that platform is derived from them.
//!
//! Nothing that executes jobs imports this module (O-12).

mod command;
mod decide;
mod event;
mod evolve;
mod refs;
mod rejection;
mod seeds;
mod state;
#[cfg(test)]
mod tests;

pub use command::Command;
pub use decide::{NAME_BYTES_MAX, REFS_MAX, decide, is_platform_id};
pub use event::Event;
pub use evolve::evolve;
pub use refs::{REF_BYTES_MAX, RefProblem, Refs, check_refs};
pub use rejection::Rejection;
pub use seeds::seeds;
pub use state::{Platform, State};
