//! What orchestrators and workers say to each other. JSON on the wire; unknown fields are ignored, so
//! that both sides can be upgraded in any order.
//!
//! None of it is the truth: a message that is lost, repeated or late changes nothing that the log does
//! not say. Workers in other languages speak the same messages.

mod dead_letter;
mod facade;
mod heartbeat;
mod report;
mod results;
mod task;
mod wake;

pub use dead_letter::DeadLetter;
pub use facade::{JobQueueMessage, TaskQueueMessage};
pub use heartbeat::{Heartbeat, QueueSlots, RunRef, StopRuns};
pub use report::{Refusal, ReportMessage, ReportOutcome, ReportReply, WhereIs, Whereabouts};
pub use results::{Elsewhere, Manifest, NodeResult, ResultsPage, ResultsQuery, Source, results_in};
pub use task::{Sending, TaskMessage};
pub use wake::{JobChanged, JobMessage};

/// Largest message in either direction; what is larger travels by reference through the object store.
pub const MESSAGE_BYTES_MAX: usize = 512 * 1024;
