//! How an orchestrator runs, and the door to dispatch.

use std::sync::Arc;
use std::time::Duration;

use domain::id::OwnerId;
use domain::job::Policy;
use domain::message::{Sending, TaskMessage};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

/// Publishes what the events of an owner say is dispatched.
pub trait Dispatch: Send + Sync + 'static {
    /// Takes the messages and publishes them as soon as it can, in any order, repeating as needed.
    fn publish(&self, messages: Vec<TaskMessage>);

    /// Looks whether these messages still lie where they were put; those that do not are lost, and a
    /// notice says so.
    fn look_for(&self, messages: Vec<(Sending, u64)>);
}

/// What the publisher found out about messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Messages are in the stream, at these places.
    Published(Vec<(Sending, u64)>),
    /// The stream was made anew: everything that waited in it is gone.
    StreamLost,
    /// One message is gone.
    MessageLost(Sending),
}

/// Everything that an orchestrator needs to know.
pub struct Options {
    pub owner: OwnerId,
    pub host: String,
    pub policy: Policy,
    /// Values of the deployment that templates may read.
    pub env: Map<String, Value>,
    /// No retries at all (G-52).
    pub fail_fast: bool,
    /// How often the lease is renewed (M-06).
    pub beat: Duration,
    /// After so long without a renewal the jobs are anybody's (M-07).
    pub stale: Duration,
    /// How often orphans are looked for (M-07).
    pub scan: Duration,
    /// Upper bound on the reaction to anything whose message was lost (O-51).
    pub sweep: Duration,
    /// A run that no heartbeat has named for so long is lost.
    pub run_silence: Duration,
    /// Jobs that are held at once.
    pub jobs_max: usize,
    /// Nodes that are held at once, all jobs together.
    pub nodes_max: usize,
    pub dispatch: Arc<dyn Dispatch>,
    pub notices: mpsc::Receiver<Notice>,
}

/// A job that was claimed so often without a single append is left alone.
pub const CLAIMS_MAX: u32 = 3;
/// Tasks that one job may dispatch before it is another's turn.
pub(super) const TURN: u32 = 16;
/// A job that has nothing to do for so many sweeps is put down.
pub(super) const PUT_DOWN_SWEEPS: u32 = 12;
/// Messages that are looked for in one sweep.
pub(super) const LOOKS_MAX: usize = 256;
/// A job that stays on the desk for so long has not harmed whoever claimed it.
pub(super) const HARMLESS_AFTER: Duration = Duration::from_secs(2);
/// Tasks of one queue and priority that are published at least, however few workers there are.
pub(super) const WINDOW_MIN: u32 = 64;
