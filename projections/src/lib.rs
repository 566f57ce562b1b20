//! The read side: log follower, projectors, read models, rebuild, dispatch, callbacks, time travel.
//!
//! The room is laid out and still empty. It may use `domain` and nothing else of ours: `commands`
//! and `projections` meet in the log's schema only.
