//! Today's decision on what came from outside.

use chrono::{DateTime, Utc};

use super::entry::Entry;
use super::steps::{Diverged, Replay};
use super::stimulus::{self, word};
use super::verdict::Divergence;
use crate::definition::resolve_inputs;
use crate::id::NodeId;
use crate::job::command::{Command, Fence, Window};
use crate::job::decide::{EVENTS_MAX, decide};
use crate::job::event::Event;
use crate::job::status::NodeStatus;
use crate::job::{Context, Rejection};
use crate::outcome::Decision;

impl<I: Iterator<Item = Entry>> Replay<'_, I> {
    /// The job is made by the claim that is written with it.
    pub(super) fn create(&mut self, head: &Entry) -> Result<(String, Vec<Event>), Diverged> {
        let second = self.history.get(1).map(|entry| entry.event.clone());
        let Some(mut command) = stimulus::creation(&head.event, second.as_ref()) else {
            let reason = "a job begins with `job_created`".to_owned();
            return Err(Box::new(Divergence::unexpected("none", head, reason)));
        };
        if let (Command::Create(create), Some(declared)) = (&mut command, &self.rules.inputs) {
            // What was submitted is a fact; what the other definition adds to it or refuses is not.
            create.job.inputs =
                resolve_inputs(declared, &create.job.inputs).map_err(|problems| {
                    let texts = problems
                        .iter()
                        .map(|p| format!("{}: {}", p.name, p.message));
                    let reason = texts.collect::<Vec<_>>().join("; ");
                    Box::new(Divergence::unexpected("create the job", head, reason))
                })?;
        }
        let claim = (1..3).find_map(|nth| {
            let entry = self.history.get(nth)?;
            match entry.event {
                Event::JobClaimed { owner, epoch, .. } => {
                    Some((Fence { owner, epoch }, entry.clone()))
                }
                _ => None,
            }
        });
        let (fence, now) = match claim {
            Some((fence, entry)) => (Some(fence), self.now(&entry)),
            None => (None, self.now(head)),
        };
        let ctx = Context {
            fence,
            ..self.context_at(now)
        };
        let word = word(&command);
        let events = accepted(decide(&self.state, command, &ctx), &word, head)?;
        Ok((word, events))
    }

    /// What is decided on a command; it must be something.
    pub(super) fn ask(
        &mut self,
        command: Command,
        now: DateTime<Utc>,
        head: &Entry,
    ) -> Result<(String, Vec<Event>), Diverged> {
        let word = word(&command);
        let decided = decide(&self.state, command, &self.context(now, head));
        Ok((word.clone(), accepted(decided, &word, head)?))
    }

    /// Hands out as much as was handed out. What a queue had room for is a fact; which tasks are next, and what they
    /// are told, is decided.
    pub(super) fn dispatch(
        &mut self,
        node: &NodeId,
        head: &Entry,
    ) -> Result<(String, Vec<Event>), Diverged> {
        let now = self.now(head);
        let lane = self
            .state
            .slot(node)
            .and_then(|slot| self.state.lane(slot.node));
        let Some(lane) = lane else {
            let reason = format!("there is no task {node}");
            return Err(Box::new(Divergence::unexpected("dispatch", head, reason)));
        };
        let window = |slots| Window {
            slots: [(lane.clone(), slots)].into(),
        };
        let is_paused = self.state.paused;
        // Decided before the owner had read of the pause.
        self.state.paused &= !self.is_unheard(head);
        let run = self.dispatched_at_once(now);
        let ctx = self.context(now, head);
        // Two decisions of one instant look like one; then the first of them is shorter.
        let mut longest = None;
        for slots in (1..=u32::try_from(run.len()).unwrap_or(1).max(1)).rev() {
            let command = Command::Dispatch(window(slots));
            let word = word(&command);
            let decided = decide(&self.state, command, &ctx);
            let decided = decided.map(Decision::into_events);
            let fits = decided.as_ref().is_ok_and(|events| self.comes_next(events));
            let is_hopeless = !decided
                .as_ref()
                .is_ok_and(|events| events.first() == Some(&head.event));
            if fits || longest.is_none() {
                longest = Some((word, decided));
            }
            if fits || is_hopeless {
                break;
            }
        }
        self.state.paused = is_paused;
        match longest {
            Some((word, decided)) => {
                let decided = decided.map(Decision::Accepted);
                Ok((word.clone(), accepted(decided, &word, head)?))
            }
            None => Ok((String::new(), Vec::new())),
        }
    }

    /// Whether the log goes on with these events; wishes may stand where an append was full.
    fn comes_next(&mut self, events: &[Event]) -> bool {
        let (mut nth, mut append) = (0, self.append);
        events.iter().all(|event| {
            while append.is_full() && self.history.get(nth).is_some_and(Entry::is_flag) {
                nth += 1;
            }
            let Some(entry) = self.history.get(nth) else {
                return false;
            };
            nth += 1;
            append = append.and(entry);
            entry.event == *event
        })
    }

    /// The tasks that follow each other in the log and were handed out, or could not be, in one instant.
    fn dispatched_at_once(&mut self, now: DateTime<Utc>) -> Vec<NodeId> {
        let mut run = Vec::new();
        for nth in 0.. {
            let Some(entry) = self.history.get(nth).cloned() else {
                break;
            };
            match &entry.event {
                Event::NodeDispatched(sent)
                    if run.len() < EVENTS_MAX && self.now(&entry) == now =>
                {
                    run.push(sent.node.clone());
                }
                Event::NodeFailed(failed) if failed.run.is_none() => {
                    let slot = self.state.slot(&failed.node);
                    let work = slot.and_then(|slot| self.state.work(slot));
                    if work.is_some_and(|work| work.status == NodeStatus::Ready) {
                        run.push(failed.node.clone());
                    }
                    break;
                }
                Event::JobStarted if nth > 0 => {}
                _ if entry.is_flag() => {}
                _ => break,
            }
        }
        run
    }

    /// When timers were looked at. The log says it of failures; else it was when the last of them was due.
    pub(super) fn due(&self, nodes: &[NodeId], head: &Entry) -> DateTime<Utc> {
        let work = |node: &NodeId| self.state.work(self.state.slot(node)?);
        let due_ms = nodes.iter().filter_map(|node| work(node)?.due_ms).max();
        let due = due_ms.and_then(DateTime::from_timestamp_millis);
        let due = due.unwrap_or(DateTime::UNIX_EPOCH);
        match &head.event {
            Event::NodeFailed(failed) => match failed.failed_at {
                Some(_) => self.now(head),
                None if failed.retry_at.is_some() => {
                    let earliest = due.max(self.state.grace_until);
                    self.now(head).max(earliest)
                }
                None => due.max(self.state.grace_until),
            },
            _ => self.moments.no_later(due, head),
        }
    }
}

/// The events of a decision; none is a divergence, because there is a recorded one.
pub(super) fn accepted(
    decided: Result<Decision<Event>, Rejection>,
    word: &str,
    head: &Entry,
) -> Result<Vec<Event>, Diverged> {
    let reason = match decided {
        Ok(Decision::Accepted(events)) if !events.is_empty() => return Ok(events),
        Ok(_) => "nothing follows from it".to_owned(),
        Err(rejection) => rejection.to_string(),
    };
    Err(Box::new(Divergence::unexpected(word, head, reason)))
}
