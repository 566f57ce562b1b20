//! The write side: event log, group-commit appender, one file per use case, the orchestrator.
//!
//! The room is laid out and still empty; its rules already live in [`domain`]. It may use `domain`
//! and nothing else of ours: `commands` and `projections` meet in the log's schema only.
