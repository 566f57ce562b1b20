//! The write side: the event log, the group-commit appender, the use cases, and the orchestrator that
//! owns jobs.
//!
//! Everything that changes goes through [`appender::Appender`]; SQL stands only in repository modules
//! below [`log`].

pub mod access;
pub mod appender;
pub mod callbacks;
pub mod carry;
pub mod clock;
pub mod control;
pub mod dead_letter;
pub mod definitions;
pub mod fork;
pub mod log;
pub mod migrate;
pub mod older;
pub mod orchestrator;
pub mod preflight;
pub mod register;
pub mod retry;
pub mod review;
pub mod rollback;
pub mod secrets;
pub mod submit;
mod tenancy;
pub mod why;
pub mod write;
