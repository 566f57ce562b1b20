//! The log: one contract for Postgres and for memory, and what only Postgres has.

mod appender;
mod contract;
mod schema;
