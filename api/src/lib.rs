//! GraphQL, REST for platforms, authentication and metrics.
//!
//! The room is laid out and still empty, but for the operations face. It may use `domain`, `bus`,
//! `commands` and `projections`.

pub mod ops;
