//! Events as the log keeps them: how they are written, read back by later versions, and chained.
//!
//! There is one way in ([`encode`]) and one way out ([`decode`]). Every version of every event that
//! was ever shipped has a golden file in `domain/tests/golden`; an older version passes through the
//! upcast chain before it is read.

mod chain;
pub mod checkpoint;
mod codec;
mod direct;
mod kind;
pub mod proof;
pub mod tree;
mod upcast;

pub use chain::{BatchHasher, Hash, Leaf, batch_hash, leaf_hash};
pub use codec::{DecodeError, Encoded, Event, decode, encode};
pub use kind::{Aggregate, CARRIES, ENDS, KINDS, Kind};
pub use upcast::{UPCASTS, Upcast, upcast};
