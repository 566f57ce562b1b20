//! Going back to an earlier revision of an asset, and what can be told of its history, with real workers.

mod refusals;
mod report;
mod rollback;
mod stage;
