//! A geospatial asset and its revisions; stream `asset:<asset_id>`.
//!
//! Invariants: the id follows from platform and refs, and neither ever changes (O-02, O-10);
//! revisions count 1, 2, 3 without gaps and each is kept, also through a rollback (O-08, O-09);
//! the platform and the orchestrator each write their own fields only (O-24). The partner's
//! semantic version is one of the refs and opaque to us (O-07); it has nothing to do with the
//! revision, which is ours.

mod check;
mod command;
mod decide;
mod decide_processing;
mod decide_review;
mod event;
mod evolve;
mod id;
mod limits;
mod ownership;
mod processing;
mod rejection;
mod review;
mod revision;
mod state;
#[cfg(test)]
mod tests;

pub use check::{
    Basis, CHECK_AGE_MAX, CHECK_WORKFLOW, CHECKED_BYTES_MAX, Check, Detail, Finding, Report,
    Verdict, check_inputs, check_may_begin,
};
pub use command::{Command, Rollback};
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use id::{AssetId, InvalidAssetId};
pub use limits::{
    ARTIFACT_BYTES_MAX, ARTIFACTS_MAX, NAME_BYTES_MAX, REFS_BYTES_MAX, URI_BYTES_MAX,
};
pub use ownership::{Concern, FIELD_OWNERS};
pub use processing::Processing;
pub use rejection::Rejection;
pub use review::{Approval, Clearance};
pub use revision::{Artifact, Origin, Revision};
pub use state::{Asset, State};
