//! One job in memory: folded, with what is decided and not yet committed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_nats::jetstream;
use chrono::{DateTime, Utc};
use domain::asset::AssetId;
use domain::id::{JobId, RequestId};
use domain::job::{self, Command, Context, Event, Fence, Rejection, State};
use domain::message::ReportReply;
use domain::outcome::Decision;
use domain::trace::TraceParent;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::outstanding::{Began, Changed, Outstanding};
use super::reports::ReplyTo;
use crate::log::{Append, COMMAND_EVENTS_MAX};

/// A job of this orchestrator.
#[derive(Debug)]
pub(crate) struct Held {
    pub(super) job_id: JobId,
    pub(crate) request_id: RequestId,
    pub(super) org_id: Arc<str>,
    pub(super) asset_id: Option<AssetId>,
    /// The trace that its request came with.
    pub(super) trace: Option<TraceParent>,
    pub(super) fence: Fence,
    /// With everything that is decided, committed or not.
    pub(crate) state: State,
    /// What the log has.
    pub(super) version: u64,
    /// Decided, not sent.
    pub(super) outbox: Vec<Event>,
    /// Sent, not committed.
    pub(super) in_flight: Vec<Event>,
    /// Answers that wait for a commit: of what is in flight, and of what is not sent.
    pub(super) replies: Vec<(ReplyTo, ReportReply)>,
    pub(super) replies_next: Vec<(ReplyTo, ReportReply)>,
    pub(super) outstanding: Outstanding,
    /// Written together with the first events of the job: what its request gets.
    pub(super) companions: Vec<Append>,
    /// The log still counts the claim against the job.
    pub(super) unsettled: bool,
    /// What is in flight settles it.
    pub(super) settling: bool,
    /// Tells this stay on the desk from earlier ones of the same job.
    pub(super) life: u64,
    /// Since when it is on the desk.
    pub(super) since: Instant,
    /// What is in flight says that nothing happens until then, and puts the job down.
    pub(super) put_down: Option<DateTime<Utc>>,
    /// The message that brought the request; acknowledged when the job is in the log (M-01).
    pub(super) ack: Option<jetstream::Message>,
    /// Told when the job is in the log, whoever put it there; dropped when it is given up.
    pub(super) taken: Option<oneshot::Sender<()>>,
    /// Where it stands in the list of timers.
    pub(super) timer: Option<DateTime<Utc>>,
    /// What it counts in the budget.
    pub(super) counted: usize,
    /// Events of others are being read.
    pub(super) reading: bool,
}

/// Why a job cannot go on here.
#[derive(Debug)]
pub(super) enum Trouble {
    Rejected(Rejection),
    Panicked(String),
}

impl Held {
    /// A job with nothing pending.
    pub(super) fn new(
        ids: (JobId, RequestId),
        org_id: Arc<str>,
        asset_id: Option<AssetId>,
        fence: Fence,
        state: State,
        version: u64,
    ) -> Self {
        Self {
            job_id: ids.0,
            request_id: ids.1,
            org_id,
            asset_id,
            trace: None,
            fence,
            state,
            version,
            outbox: Vec::new(),
            in_flight: Vec::new(),
            replies: Vec::new(),
            replies_next: Vec::new(),
            outstanding: Outstanding::default(),
            companions: Vec::new(),
            unsettled: false,
            settling: false,
            life: 0,
            since: Instant::now(),
            put_down: None,
            ack: None,
            taken: None,
            timer: None,
            counted: 0,
            reading: false,
        }
    }

    /// Decides a command. What follows is in the state and in the outbox.
    pub(super) fn handle(
        &mut self,
        command: Command,
        ctx: &Context,
        changed: &mut Changed,
    ) -> Result<bool, Trouble> {
        let state = &mut self.state;
        // One job must never take the others with it.
        let decided = catch_unwind(AssertUnwindSafe(|| job::handle(state, command, ctx)));
        let events = match decided {
            Ok(Ok(Decision::Accepted(events))) => events,
            Ok(Ok(Decision::AlreadyApplied)) => return Ok(false),
            Ok(Err(rejection)) => return Err(Trouble::Rejected(rejection)),
            Err(panic) => return Err(Trouble::Panicked(panic_text(&*panic))),
        };
        for event in &events {
            self.outstanding.follow(event, changed);
        }
        let any = !events.is_empty();
        self.outbox.extend(events);
        Ok(any)
    }

    /// Whether an answer may be given now, because nothing that it rests on is uncommitted.
    pub(super) fn is_committed(&self) -> bool {
        self.outbox.is_empty() && self.in_flight.is_empty()
    }

    /// Whether the next events can be sent.
    pub(super) fn can_send(&self) -> bool {
        self.in_flight.is_empty() && !self.outbox.is_empty() && !self.reading
    }

    /// Takes what is sent next: as much as one job may put into one batch.
    pub(super) fn take(&mut self) -> Vec<Event> {
        let rest = if self.outbox.len() > COMMAND_EVENTS_MAX {
            self.outbox.split_off(COMMAND_EVENTS_MAX)
        } else {
            Vec::new()
        };
        self.in_flight = std::mem::replace(&mut self.outbox, rest);
        if self.outbox.is_empty() {
            self.replies = std::mem::take(&mut self.replies_next);
        }
        self.in_flight.clone()
    }

    /// What was in flight did not get in: it is sent again, in front of everything else.
    pub(super) fn put_back(&mut self) {
        let newer = std::mem::take(&mut self.outbox);
        self.outbox = std::mem::take(&mut self.in_flight);
        self.outbox.extend(newer);
        self.unsettled |= std::mem::take(&mut self.settling);
        let newer = std::mem::take(&mut self.replies_next);
        self.replies_next = std::mem::take(&mut self.replies);
        self.replies_next.extend(newer);
    }

    /// Its tasks that workers run.
    pub(super) fn running(&self) -> Vec<Began> {
        let running = self.outstanding.iter().filter_map(|(node, out)| {
            Some(Began {
                node: node.clone(),
                attempt: out.dispatched.attempt,
                epoch: out.dispatched.epoch,
                run: out.run?,
                worker: out.worker.clone(),
            })
        });
        running.collect()
    }

    /// When something happens to it next, if until then nothing can but by a wish from outside.
    pub(super) fn idle_until(&self) -> Option<DateTime<Utc>> {
        let is_idle = self.state.is_settled()
            && self.outbox.is_empty()
            && self.outstanding.is_empty()
            && self.state.ready_lanes().next().is_none();
        is_idle.then(|| self.state.next_due()).flatten()
    }

    /// Folds an event that somebody else wrote; false if that panicked, which leaves it unfit.
    pub(super) fn follow(&mut self, event: &Event) -> bool {
        let state = &mut self.state;
        let folded = catch_unwind(AssertUnwindSafe(|| job::apply(state, event)));
        self.version += 1;
        folded.is_ok()
    }

    /// How much of the budget it takes.
    pub(super) fn weight(&self) -> usize {
        let c = self.state.counts();
        c.pending + c.ready + c.dispatched + c.running + c.completed + c.failed + c.skipped
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}
