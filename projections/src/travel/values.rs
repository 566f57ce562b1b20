//! The large values of rows: outputs, failures, checkpoints. A folded job only knows which events hold them.

use std::collections::{BTreeSet, HashMap};

use domain::event::Event as AnyEvent;
use domain::failure::{Failure, FailureClass};
use domain::job::Event;
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::Error;
use crate::read_models::job::past::{Seen, Whole};
use crate::store::travel as store;

/// Events of one read.
const EVENTS_PER_READ: usize = 500;

/// The events that some rows need.
pub(super) struct Values<'a> {
    whole: &'a Whole,
    events: HashMap<i64, Event>,
}

impl<'a> Values<'a> {
    pub(super) async fn of(pool: &PgPool, whole: &'a Whole, rows: &[Seen]) -> Result<Self, Error> {
        let positions = rows.iter().flat_map(|row| {
            let large = row.large;
            [large.output, large.failure, large.checkpoint]
        });
        let positions: BTreeSet<i64> = positions.flatten().collect();
        let positions: Vec<i64> = positions.into_iter().collect();
        let mut events = HashMap::with_capacity(positions.len());
        for some in positions.chunks(EVENTS_PER_READ) {
            for entry in store::at(pool, some).await? {
                if let Ok(AnyEvent::Job(event)) = entry.decode() {
                    events.insert(entry.pos, event);
                }
            }
        }
        Ok(Self { whole, events })
    }

    /// The output of a row, and where it lies if it is too large to keep.
    pub(super) fn output(&self, row: &Seen) -> Option<(Option<Value>, Option<Value>)> {
        match self.events.get(&row.large.output?)? {
            Event::NodeCompleted(event) => {
                let external = event.external.as_ref().and_then(value);
                Some((Some(event.output.clone()), external))
            }
            Event::NodePassed { output, .. } => Some((output.clone(), None)),
            Event::BranchTaken { branch, .. } => Some((Some(json!({ "branch": branch })), None)),
            Event::NodeReused { .. } => {
                let reused = self.whole.reused_node(&row.id)?;
                let external = reused.external.as_ref().and_then(value);
                Some((Some(reused.output.clone()), external))
            }
            Event::ChildrenReused { .. } => {
                Some((self.whole.reused_output(&row.id).cloned(), None))
            }
            _ => None,
        }
    }

    /// The failure of a row, with its message.
    pub(super) fn failure(&self, row: &Seen) -> Option<(String, Value)> {
        if let (true, Some(ended)) = (row.large.ended, &self.whole.ended) {
            let failure = Failure::new(FailureClass::Cancelled, "job_ended", &ended.reason);
            return Some((failure.message.clone(), value(&failure)?));
        }
        match self.events.get(&row.large.failure?)? {
            Event::NodeFailed(event) => {
                Some((event.failure.message.clone(), value(&event.failure)?))
            }
            _ => None,
        }
    }

    pub(super) fn checkpoint(&self, row: &Seen) -> Option<Value> {
        match self.events.get(&row.large.checkpoint?)? {
            Event::CheckpointSaved { checkpoint, .. } => value(checkpoint),
            _ => None,
        }
    }
}

/// What can be written is written: these types hold nothing else.
fn value<T: Serialize>(of: &T) -> Option<Value> {
    serde_json::to_value(of).ok()
}
