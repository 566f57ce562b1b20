//! The roles of a running Strata: each alone in its process, or all together with `strata up`.
//!
//! This is where the packages are wired: `commands` and `projections` never see each other, and a
//! worker has no way to the database.

pub(crate) mod api;
pub(crate) mod args;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod callbacks;
pub(crate) mod catalog;
pub(crate) mod geo;
pub(crate) mod local_key;
pub(crate) mod migrate;
pub(crate) mod ops;
mod orchestrator;
mod projector;
mod register;
pub(crate) mod stack;
mod up;
mod worker;

pub(crate) use api::run as api;
pub(crate) use migrate::run as migrate;
pub(crate) use orchestrator::run as orchestrator;
pub(crate) use projector::run as projector;
pub(crate) use up::{Running, run as up, start};
pub(crate) use worker::run as worker;
