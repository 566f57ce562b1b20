//! The pure core of Strata.
//!
//! Everything that Strata decides is decided here, by total functions over values: no IO, no clock,
//! no randomness. Time and fresh ids come in through a context; what a decision used is written
//! into its events, so that replaying them needs nothing else.
//!
//! - [`definition`]: the workflow language: parse, validate, compile to a graph.
//! - [`expr`]: the one expression language of templates and conditions.
//! - [`handler`]: what every shipped handler takes and returns.
//! - [`job`]: the execution of one request as a graph of tasks.
//! - [`workflow`], [`request`], [`platform`], [`asset`], [`callback`]: the other aggregates.
//! - [`access`]: what the holder of a key may do.
//! - [`message`]: what orchestrators and workers say to each other.
//! - [`trace`]: which trace a piece of work belongs to.
//! - [`event`]: how events are written, read back after upgrades, and chained by hash.

#![warn(clippy::indexing_slicing)]

pub mod access;
pub mod asset;
pub mod callback;
pub mod context;
pub mod definition;
pub mod event;
pub mod expr;
pub mod failure;
pub mod handler;
pub mod id;
pub mod job;
pub mod json;
pub mod message;
pub mod outcome;
pub mod platform;
pub mod priority;
pub mod request;
pub mod suggest;
pub mod trace;
pub mod workflow;
