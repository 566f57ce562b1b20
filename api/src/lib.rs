//! The faces of Strata: GraphQL with live subscriptions, REST for platforms, authentication and limits.
//!
//! Every request carries a key; what it may see is decided in one place, [`viewer`]: rows of its own
//! organisation, and nothing else. Writes go through `commands`, reads through `projections::read`; there is
//! no SQL in this package.

mod app;
mod auth;
mod body;
mod door;
mod error;
mod faults;
pub mod graphql;
mod health;
mod live;
pub mod ops;
mod pages;
mod places;
pub mod rest;
mod serve;
mod viewer;

pub use app::{App, Blobs, Options};
pub use door::Door;
pub use error::{Category, ErrorBody, Fault, Problem};
pub use serve::{router, serve};
pub use viewer::Viewer;
