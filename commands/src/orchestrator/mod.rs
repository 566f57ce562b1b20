//! The orchestrator: claims jobs, keeps them folded in memory, applies reports, fires timers, and
//! decides what is dispatched. Any number of them run side by side, without a leader.
//!
//! One task, the desk, owns all jobs of the process; everything else brings it inputs: `intake` the
//! requests, `load` jobs that lost their owner, `reports` what workers say, `lease` the passing of time.

mod asset;
mod desk;
mod door;
mod effects;
mod hearing;
mod held;
mod intake;
mod lease;
mod load;
mod options;
mod outstanding;
mod reports;
mod results;
mod run;
mod steps;
mod sweep;
mod watch;
mod window;

pub(crate) use asset::News;
pub(crate) use load::LoadError;
pub use options::{CLAIMS_MAX, Dispatch, Notice, Options};
pub use run::{Handle, start};
