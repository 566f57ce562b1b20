//! Replay decision by decision.

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::Rules;
use super::asked::accepted;
use super::entry::{Ahead, Entry};
use super::moment::Moments;
use super::stimulus::{self, Stimulus, word};
use super::verdict::{Divergence, Verdict};
use crate::job::command::{Command, Fence, Intent};
use crate::job::decide::{
    APPEND_EVENTS_MAX, EVENT_BYTES_MAX, EVENTS_MAX, claimed, decide, intended,
};
use crate::job::event::Event;
use crate::job::evolve::apply;
use crate::job::state::State;
use crate::job::{Context, engine};
use crate::json::size_bytes;

/// A recorded decision is not the one of today.
pub(super) type Diverged = Box<Divergence>;

/// A replay on its way.
pub(super) struct Replay<'a, I> {
    pub(super) rules: &'a Rules,
    pub(super) history: Ahead<I>,
    pub(super) state: State,
    pub(super) moments: Moments,
    /// The append of the owner that was read last, and how much of it.
    pub(super) append: Part,
    unheard: Unheard,
    /// The engine had more to do when the last decision ended: it was full, or its end was never committed.
    is_cut: bool,
    next_version: u64,
    verdict: Verdict,
}

/// An append of the owner, as far as it was read.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    id: Option<Uuid>,
    events: usize,
}

impl Part {
    /// The same with one more event, or the next append.
    pub(super) fn and(self, entry: &Entry) -> Self {
        let before = if self.has(entry) { self.events } else { 0 };
        Self {
            id: entry.append,
            events: before + 1,
        }
    }

    /// Whether an event belongs to it; of some it is not known.
    pub(super) fn has(self, entry: &Entry) -> bool {
        entry.append.is_some() && entry.append == self.id
    }

    /// Whether what was decided may go on in another append: one takes only so many events.
    pub(super) fn is_full(self) -> bool {
        self.events >= APPEND_EVENTS_MAX
    }
}

/// A pause that the owner may not have known of when it decided what stands behind it in the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unheard {
    /// There is none.
    Nothing,
    /// Nothing of the owner has come since. Its next append was decided before it read on.
    Still,
    /// It came with these appends: the first, and the next ones as long as they go on with what did not fit.
    In,
}

impl<'a, I: Iterator<Item = Entry>> Replay<'a, I> {
    pub(super) fn new(rules: &'a Rules, history: I) -> Self {
        Self {
            rules,
            history: Ahead::new(history),
            state: State::new(Arc::clone(&rules.graph)),
            moments: Moments::default(),
            append: Part::default(),
            unheard: Unheard::Nothing,
            is_cut: false,
            next_version: 1,
            verdict: Verdict::default(),
        }
    }

    pub(super) fn run(mut self) -> Verdict {
        loop {
            match self.decision() {
                Ok(true) => self.verdict.decisions += 1,
                Ok(false) => return self.verdict,
                Err(diverged) => {
                    self.verdict.divergence = Some(*diverged);
                    return self.verdict;
                }
            }
        }
    }

    /// The next decision; `false` at the end of the history.
    fn decision(&mut self) -> Result<bool, Diverged> {
        let Some(head) = self.history.get(0).cloned() else {
            return match self.state.is_settled() || self.is_cut {
                true => Ok(false),
                false => self.go_on(0, 0).map(|()| true),
            };
        };
        if head.is_wish() {
            return self.wish(&head).map(|()| true);
        }
        if let (Event::JobClaimed { owner, epoch, .. }, Some(_)) = (&head.event, self.state.claim) {
            let fence = Fence {
                owner: *owner,
                epoch: *epoch,
            };
            return self.claim(&head, fence).map(|()| true);
        }
        if !self.state.is_settled() {
            let now = self.now(&head);
            let steps = engine::decide(&self.state, &self.context(now, &head));
            let goes_on = steps.first() == Some(&head.event);
            if goes_on || !self.is_cut {
                return self.go_on(0, 0).map(|()| true);
            }
        }
        self.answer(&head).map(|()| true)
    }

    /// What the owner decides on something from outside, and what the engine does then.
    fn answer(&mut self, head: &Entry) -> Result<(), Diverged> {
        let (word, events) = match stimulus::of(&self.state, &head.event) {
            _ if head.version == 1 => self.create(head)?,
            Stimulus::Command(command) => {
                let now = self.now(head);
                self.ask(command, now, head)?
            }
            Stimulus::Dispatch(node) => self.dispatch(&node, head)?,
            Stimulus::Timers(nodes) => {
                let now = self.due(&nodes, head);
                self.ask(Command::TimePassed, now, head)?
            }
            Stimulus::None => {
                let reason = "nothing that was recorded before leads to it".to_owned();
                return Err(Box::new(Divergence::unexpected("none", head, reason)));
            }
        };
        if !self.follow(&word, &events)? {
            self.is_cut = !self.state.is_settled();
            return Ok(());
        }
        if self.state.is_settled() {
            self.is_cut = false;
            return Ok(());
        }
        let bytes = events.iter().map(size_bytes).sum();
        self.go_on(events.len(), bytes)
    }

    /// The engine goes on until it is settled or the decision is full, as `handle` lets it.
    fn go_on(&mut self, mut made: usize, mut bytes: usize) -> Result<(), Diverged> {
        self.is_cut = false;
        while !self.state.is_settled() {
            if made + 3 > EVENTS_MAX || bytes >= EVENT_BYTES_MAX / 2 {
                self.is_cut = true;
                return Ok(());
            }
            self.wishes_between()?;
            // A job that never handed anything out starts and ends in one step; the end says when.
            let starts = |head: &Entry| head.event == Event::JobStarted;
            let nth = usize::from(self.history.get(0).is_some_and(starts));
            let told = self.history.get(nth).cloned();
            let now = match &told {
                Some(told) => self.now(told),
                None => self.moments.guess(None),
            };
            let ctx = Context {
                fence: self.state.claim,
                ..self.context_at(now)
            };
            let steps = engine::decide(&self.state, &ctx);
            if steps.is_empty() {
                break;
            }
            if !self.follow("go on", &steps)? {
                self.is_cut = true;
                return Ok(());
            }
            made += steps.len();
            bytes += steps.iter().map(size_bytes).sum::<usize>();
        }
        Ok(())
    }

    /// Compares what is decided today with what comes next in the log. `false` if the rest of the decision was
    /// never committed.
    fn follow(&mut self, word: &str, events: &[Event]) -> Result<bool, Diverged> {
        for event in events {
            self.wishes_between()?;
            let (append, next) = (self.append, self.next_version);
            let head = self.history.get(0);
            let event = as_written(event, head);
            if head.is_some_and(|head| is_same(&event, &head.event)) {
                self.accept(&event);
                continue;
            }
            let is_elsewhere = head.is_none_or(|head| !append.has(head));
            // The owner died, or lost the job, before it appended the rest.
            if append.is_full() && is_elsewhere {
                return Ok(false);
            }
            return Err(Box::new(Divergence::between(word, &event, head, next)));
        }
        Ok(true)
    }

    /// Others may pause and resume between two appends of one decision.
    fn wishes_between(&mut self) -> Result<(), Diverged> {
        while self.append.is_full() {
            let head = self.history.get(0).filter(|head| head.is_flag()).cloned();
            let Some(head) = head else { break };
            self.wish(&head)?;
        }
        Ok(())
    }

    /// The next event is what was expected.
    fn accept(&mut self, event: &Event) {
        let Some(entry) = self.history.next() else {
            return;
        };
        self.next_version = entry.version + 1;
        self.verdict.events += 1;
        if !self.append.has(&entry) {
            self.unheard = match self.unheard {
                Unheard::Still => Unheard::In,
                Unheard::In if self.append.is_full() => Unheard::In,
                Unheard::In | Unheard::Nothing => Unheard::Nothing,
            };
        }
        self.append = self.append.and(&entry);
        self.moments.passed(&entry, self.rules, &self.state);
        apply(&mut self.state, event);
    }

    /// A wish is written as it comes, whatever the job has come to.
    fn wish(&mut self, head: &Entry) -> Result<(), Diverged> {
        let (word, intent) = match &head.event {
            Event::JobPaused { reason } => {
                let reason = reason.clone();
                ("pause", Intent::Pause { reason })
            }
            Event::JobCancelled { reason } => {
                let reason = reason.clone();
                ("cancel", Intent::Cancel { reason })
            }
            _ => ("resume", Intent::Resume),
        };
        if self.state.created.is_none() || self.state.status.is_terminal() {
            let reason = "the job is not open".to_owned();
            return Err(Box::new(Divergence::unexpected(word, head, reason)));
        }
        let event = intended(&intent);
        if event != head.event {
            let next = self.next_version;
            return Err(Box::new(Divergence::between(
                word,
                &event,
                Some(head),
                next,
            )));
        }
        // It is not part of what the owner appends.
        self.history.next();
        self.next_version = head.version + 1;
        self.verdict.events += 1;
        apply(&mut self.state, &event);
        if matches!(event, Event::JobPaused { .. }) {
            self.unheard = Unheard::Still;
        }
        Ok(())
    }

    /// A claim is on record before its owner has folded the job; the grace is its own setting.
    fn claim(&mut self, head: &Entry, fence: Fence) -> Result<(), Diverged> {
        let mut policy = self.rules.policy.clone();
        let mut now = self.moments.guess(Some(head));
        if let Event::JobClaimed { grace_until, .. } = head.event {
            policy.claim_grace = (grace_until - now).to_std().unwrap_or_default();
            now = now.min(grace_until);
        }
        let ctx = Context {
            now,
            fence: Some(fence),
            policy,
        };
        let word = word(&Command::Claim);
        let events = accepted(decide(&self.state, Command::Claim, &ctx), &word, head)?;
        debug_assert_eq!(
            events,
            [claimed(fence, &ctx)],
            "one rule for both ways to claim"
        );
        self.follow(&word, &events)?;
        // The new owner goes on with what the old one did not get to; it may have died before that.
        self.is_cut = !self.state.is_settled();
        Ok(())
    }

    pub(super) fn is_unheard(&self, entry: &Entry) -> bool {
        match self.unheard {
            Unheard::Nothing => false,
            Unheard::Still => true,
            Unheard::In => self.append.has(entry) || self.append.is_full(),
        }
    }

    pub(super) fn now(&self, entry: &Entry) -> DateTime<Utc> {
        self.moments.of(entry, self.rules, &self.state)
    }

    pub(super) fn context(&self, now: DateTime<Utc>, head: &Entry) -> Context {
        Context {
            fence: head.fence.or(self.state.claim),
            ..self.context_at(now)
        }
    }

    pub(super) fn context_at(&self, now: DateTime<Utc>) -> Context {
        Context {
            now,
            fence: None,
            policy: self.rules.policy.clone(),
        }
    }
}

/// Today's event as the build of the recorded one would have written it.
fn as_written<'e>(today: &'e Event, recorded: Option<&Entry>) -> Cow<'e, Event> {
    match (today, recorded.map(|entry| &entry.event)) {
        // Builds before it did not say when an attempt had failed.
        (Event::NodeFailed(failed), Some(Event::NodeFailed(recorded)))
            if recorded.failed_at.is_none() && recorded.retry_at.is_some() =>
        {
            let mut failed = failed.clone();
            failed.failed_at = None;
            Cow::Owned(Event::NodeFailed(failed))
        }
        _ => Cow::Borrowed(today),
    }
}

/// Whether an event is the recorded one. Inputs that another definition completes are not held against it.
fn is_same(today: &Event, recorded: &Event) -> bool {
    match (today, recorded) {
        (Event::JobCreated(today), Event::JobCreated(recorded)) => {
            today.job_id == recorded.job_id
                && today.request_id == recorded.request_id
                && today.workflow == recorded.workflow
        }
        _ => today == recorded,
    }
}
