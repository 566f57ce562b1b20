//! The API as its clients see it.

mod canary;
mod clients;
mod graphql;
mod hostile;
mod matrix;
mod rest;
mod schema;
pub(crate) mod server;
mod statements;
