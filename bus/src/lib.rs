//! The way between processes: the NATS connection, the subjects, the JetStream streams and consumers.
//!
//! JetStream is a wake-up queue, never the truth (ADR 0009): everything here may be wiped at any time
//! and is made again by whoever notices first.

mod connect;
pub mod fault;
mod login;
pub mod metric;
mod subjects;
mod topology;
pub mod trace;

pub use connect::{Bus, ConnectError, NotSent};
pub use login::connect_nats;
pub use subjects::{InvalidQueue, Subjects, check_queue};
pub use topology::{ACK_WAIT, TopologyError};

pub use async_nats;
