//! The log: one contract for Postgres and for memory, and what only Postgres has.

mod appender;
pub(crate) mod contract;
mod schema;
