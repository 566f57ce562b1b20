//! The spine as real processes on real Postgres and NATS, which get killed.

mod faults;
mod forks;
mod giant;
mod handlers;
mod hostile;
mod http;
pub(crate) mod invariants;
mod kills;
mod ops;
mod outages;
mod rebuild;
pub(crate) mod rig;
mod runs;
mod traces;
mod travel;
pub(crate) mod workflows;
