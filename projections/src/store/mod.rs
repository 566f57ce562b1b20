//! Repositories: the only place of this crate with SQL that writes, one file per family of tables.
//!
//! Rows come and go as whole columns (UNNEST): a batch of thousands of events costs a handful of
//! statements.

pub(crate) mod assets;
pub(crate) mod callbacks;
pub(crate) mod checkpoints;
pub(crate) mod dead_letters;
pub(crate) mod definitions;
pub(crate) mod errors;
pub(crate) mod history;
pub(crate) mod jobs;
pub(crate) mod log;
pub(crate) mod nodes;
pub(crate) mod proof;
pub(crate) mod requests;
pub(crate) mod results;
pub(crate) mod sets;
pub(crate) mod snapshots;
pub(crate) mod travel;
