//! Repositories: the only place of this crate with SQL that writes, one file per family of tables.
//!
//! Rows come and go as whole columns (UNNEST): a batch of thousands of events costs a handful of
//! statements. A rebuild fills empty tables by COPY.
//!
//! Statements of the projector name the read models without schema: the `search_path` of its connections says whether
//! they write those that everybody reads (`dagapp`) or those that are being rebuilt (`dagapp_next`).

pub(crate) mod archives;
pub(crate) mod assets;
pub(crate) mod audit;
pub(crate) mod callbacks;
pub(crate) mod checkpoints;
pub(crate) mod copy;
pub(crate) mod dead_letters;
pub(crate) mod definitions;
pub(crate) mod errors;
pub(crate) mod fill;
pub(crate) mod history;
pub(crate) mod jobs;
pub(crate) mod log;
pub(crate) mod next;
pub(crate) mod nodes;
pub(crate) mod partitions;
pub(crate) mod proof;
pub(crate) mod rebuilds;
pub(crate) mod replay;
pub(crate) mod requests;
pub(crate) mod results;
pub(crate) mod sent;
pub(crate) mod sets;
pub(crate) mod snapshots;
pub(crate) mod sources;
pub(crate) mod travel;
pub(crate) mod tree;
