//! What every use case needs to write: the log, the appender, the way to wake others, and ids.

use std::sync::Arc;

use bus::Bus;
use domain::context::{Actor, Context};
use domain::trace::TraceParent;
use uuid::Uuid;

use crate::appender::Appender;
use crate::clock::Clock;
use crate::definitions::Definitions;
use crate::log::{Log, Meta, Recorded};

/// The write side of one process. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    pub log: Arc<dyn Log>,
    pub appender: Appender,
    pub definitions: Arc<Definitions>,
    pub clock: Clock,
    /// Wake-ups go out on it; without it, others find out by looking.
    pub bus: Option<Bus>,
}

impl Writer {
    /// The circumstances of a command that `actor` gives now.
    pub(crate) fn context(&self, actor: Actor) -> Context {
        Context {
            now: self.clock.now(),
            actor,
        }
    }
}

/// Who wants the events and what they belong to.
pub(crate) fn meta(actor: &str, correlation: Option<String>) -> Meta {
    Meta {
        actor: actor.to_owned(),
        command_id: fresh_id(),
        correlation,
        causation: None,
        trace: None,
    }
}

/// The same, of an owner: each write says under which claim it was made, and for which trace.
pub(crate) fn owned_meta(
    fence: domain::job::Fence,
    correlation: String,
    trace: Option<TraceParent>,
) -> Meta {
    Meta {
        causation: Some(fence.cause()),
        trace: trace.map(String::from),
        ..meta("orchestrator", Some(correlation))
    }
}

/// The version that a stream has, of which these are the last events. Older ones may be archived, so it is not their
/// number.
pub(crate) fn version_of(recorded: &[Recorded]) -> u64 {
    recorded.last().map_or(0, |last| last.version)
}

/// A fresh id, in the order of time.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place of the write side that draws ids"
)]
#[must_use]
pub fn fresh_id() -> Uuid {
    Uuid::now_v7()
}
