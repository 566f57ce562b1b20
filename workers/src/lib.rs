//! The worker runtime and the handler library; the only place that will link GDAL.
//!
//! A worker is dumb (T-03): it receives, executes, reports. It decides nothing about jobs, and it has no
//! connection to the log: what counts is decided by the owner of the job, whom it asks and tells.
//!
//! - [`run`] is the worker: it pulls from queues, runs handlers, reports, and shows signs of life.
//! - [`Handler`] and [`BlockingHandler`] are what a handler implements, [`Context`] what it is given.
//! - [`store`] is the object store, for whatever is too large to be told.

pub mod child;
mod clock;
pub mod handler;
mod profile;
mod runtime;
pub mod shipped;
pub mod store;
#[cfg(test)]
mod testing;
pub mod tiers;

pub use handler::{
    BlockingHandler, CancelReason, Context, Done, Handler, Phase, Registry, RegistryError, Resume,
};
pub use profile::{InvalidProfile, Profile};
pub use runtime::{Options, StartError, Timing, run};
pub use store::{Store, StoreError};
