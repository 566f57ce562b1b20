//! GraphQL, REST for platforms, authentication and metrics.
//!
//! The room is laid out and still empty. It may use `domain`, `commands` and `projections`.
