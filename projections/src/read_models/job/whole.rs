//! One job from its first event on, for a rebuild: nothing of it is in any table yet, so nothing is loaded, and all that
//! happened to its rows is known when they are written.
//!
//! The same rules as for batches; jobs for which they need the tables (those that took over the work of an older job) are
//! not folded here.

use domain::job::Event;

use super::changes::Changes;
use super::row::{Job, Place};
use super::{STREAM, Unfit, begin, new_job};
use crate::read_models::graphs::Graphs;
use crate::store::history::HistoryRow;
use crate::store::log::Seen;

/// Memory that a row of a node takes, about.
const NODE_BYTES: usize = 512;

/// A job with everything that became of it so far.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) job: Job,
    pub(crate) changes: Changes,
    payloads: usize,
}

impl Whole {
    /// The job that an event makes.
    pub(crate) fn begin(seen: &Seen<'_>, event: &Event, graphs: &Graphs) -> Result<Self, Unfit> {
        let Event::JobCreated(created) = event else {
            return Err(Unfit::NoJob);
        };
        let place = place_of(seen);
        let job_id = seen.stream_id.strip_prefix(STREAM).unwrap_or_default();
        let mut job = new_job(job_id, seen.org_id, created, place)?;
        begin(&mut job, created, graphs, place)?;
        let mut changes = Changes::default();
        changes.history.push(HistoryRow::of(&job.row, place, true));
        Ok(Self {
            job,
            changes,
            payloads: seen.payload.len(),
        })
    }

    pub(crate) fn apply(&mut self, seen: &Seen<'_>, event: &Event) -> Result<(), Unfit> {
        self.payloads += seen.payload.len();
        self.changes.apply(&mut self.job, event, place_of(seen))?;
        // All children are in `groups`.
        self.changes.expansions.clear();
        Ok(())
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.job.row.status.is_terminal()
    }

    /// Memory that it takes, about.
    pub(crate) fn weight(&self) -> usize {
        self.job.nodes.len() * NODE_BYTES + self.payloads
    }
}

/// Whether an event needs rows of another job.
pub(crate) fn takes_over(event: &Event) -> bool {
    matches!(
        event,
        Event::OutputsReused { .. } | Event::NodeReused { .. } | Event::ChildrenReused { .. }
    )
}

fn place_of(seen: &Seen<'_>) -> Place {
    Place {
        pos: seen.pos,
        at: seen.recorded_at,
    }
}
