//! The read side: log follower, projectors, read models, dispatch, callbacks, dead letters.
//!
//! It may use `domain` and `bus` and nothing else of ours: `commands` and `projections` meet in the
//! log's schema only. Read models can be thrown away and built again from the log; effects (dispatch,
//! callbacks) are only ever resumed.

pub mod archive;
pub mod audit;
pub mod callbacks;
pub mod dead_letters;
pub mod dispatch;
mod error;
mod follower;
pub mod notary;
mod projector;
pub mod read;
mod read_models;
pub mod rebuild;
pub mod replay;
mod run;
mod store;
pub mod travel;
pub mod verify;

pub use error::Error;
pub use read_models::{NAME as READ_MODELS, VERSION as READ_MODELS_VERSION};
pub use run::{Options, PROJECTOR_CONNECTIONS, run};
