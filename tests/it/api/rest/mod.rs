//! REST for platforms, called as partners call it.

mod document;
mod errors;
mod facade;
mod review;
mod schemathesis;
mod stage;
mod status;
mod submit;
