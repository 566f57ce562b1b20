//! From rows of the log to the thread that replays them: bounded, and job after job.

use std::sync::Arc;

use domain::definition::WorkflowRef;
use domain::event::{Event, decode};
use domain::job::replay::{Entry, Rules, replay};
use tokio::sync::mpsc::Receiver;

use super::{Outcome, Replayed};
use crate::store::replay::Row;

/// What goes to the thread.
pub(super) enum Feed {
    /// A job whose rows follow.
    Job(Box<Begun>),
    Row(Box<Row>),
}

/// A job with what it is replayed under.
pub(super) struct Begun {
    pub(super) job_id: String,
    pub(super) workflow: Option<WorkflowRef>,
    /// None where what is tried is not meant for it; else the rules, or why there are none.
    pub(super) rules: Result<Option<Arc<Rules>>, String>,
}

/// Replays the jobs that are fed, each handed to `done`. Of one that comes alone, no more is asked for than it takes.
pub(super) fn replay_all(mut feed: Receiver<Feed>, is_alone: bool, mut done: impl FnMut(Replayed)) {
    let mut next = feed.blocking_recv();
    while let Some(Feed::Job(begun)) = next {
        let mut rows = Rows {
            feed: &mut feed,
            ended: false,
            next: None,
            unreadable: None,
        };
        let outcome = match &begun.rules {
            Ok(None) => Outcome::OtherWorkflow,
            Ok(Some(rules)) => {
                let verdict = replay(rules, &mut rows);
                match rows.unreadable.take() {
                    Some(why) if verdict.is_confirmed() => Outcome::Unreadable(why),
                    _ => Outcome::Verdict(verdict),
                }
            }
            Err(why) => Outcome::Unreadable(why.clone()),
        };
        done(Replayed {
            job_id: begun.job_id,
            workflow: begun.workflow,
            outcome,
        });
        if is_alone {
            return;
        }
        next = rows.rest();
    }
}

/// The rows of one job.
struct Rows<'a> {
    feed: &'a mut Receiver<Feed>,
    ended: bool,
    /// The job that comes after it.
    next: Option<Feed>,
    unreadable: Option<String>,
}

impl Rows<'_> {
    /// The job after this one; what is left of this one is not looked at.
    fn rest(mut self) -> Option<Feed> {
        while !self.ended {
            self.row();
        }
        self.next
    }

    fn row(&mut self) -> Option<Box<Row>> {
        if self.ended {
            return None;
        }
        match self.feed.blocking_recv() {
            Some(Feed::Row(row)) => Some(row),
            other => {
                self.ended = true;
                self.next = other;
                None
            }
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.unreadable.is_some() {
            return None;
        }
        let row = self.row()?;
        let schema_ver = u16::try_from(row.schema_ver).unwrap_or(u16::MAX);
        let number = |n: i64| u64::try_from(n).unwrap_or(0);
        match decode(&row.kind, schema_ver, &row.payload) {
            Ok(Event::Job(event)) => {
                let place = (number(row.pos), number(row.version));
                Some(Entry::new(place, Some(row.recorded_at), &row.meta, event))
            }
            Ok(_) => {
                self.unreadable = Some(format!("event {} is not one of a job", row.version));
                None
            }
            Err(error) => {
                self.unreadable = Some(format!("event {}: {error}", row.version));
                None
            }
        }
    }
}
