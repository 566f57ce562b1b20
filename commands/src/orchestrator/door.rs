//! The way to the desk: what may be brought to it, and by whom.

use chrono::{DateTime, Utc};
use domain::id::JobId;
use domain::job::Event;
use domain::job::command::{Create, Report};
use domain::message::Heartbeat;
use tokio::sync::{mpsc, oneshot};

use super::held::Held;
use super::options::Notice;
use super::reports::ReplyTo;
use crate::appender::{AppendError, Appended};
use crate::log::{LogError, Owned};

/// Reports that may wait; beyond that workers are asked to try again.
const REPORTS_MAX: usize = 16_384;

/// What is brought to the desk.
pub(super) enum Input {
    Report {
        job: JobId,
        report: Box<Report>,
        reply: ReplyTo,
    },
    Heartbeat(Heartbeat),
    /// A request that becomes a job here.
    New(Box<Held>, Box<Create>),
    /// A job that was claimed from somebody else, or found again.
    Loaded(Box<Held>),
    Appended {
        job: JobId,
        /// Which stay of the job on the desk it belongs to.
        life: u64,
        result: Result<Appended, AppendError>,
    },
    /// What others wrote to a job.
    Tail {
        job: JobId,
        life: u64,
        result: Result<Vec<Event>, LogError>,
    },
    /// Somebody else wrote to a job.
    Changed(JobId),
    Notice(Notice),
    /// Time to look after what moves slowly.
    Sweep,
    /// Everything that the log gives to this owner; the answer is what it does not hold, but for what is
    /// put down until after this time.
    Owned(Vec<Owned>, DateTime<Utc>, oneshot::Sender<Vec<JobId>>),
    Owners(u32),
    /// A message that this process sent to itself has arrived.
    Hears,
    /// How much is held: jobs and nodes.
    Load(oneshot::Sender<(usize, usize)>),
    Holds(JobId, oneshot::Sender<bool>),
}

/// The way to the desk. Cheap to clone.
#[derive(Clone)]
pub(super) struct Door {
    reports: mpsc::Sender<Input>,
    inner: mpsc::UnboundedSender<Input>,
}

impl Door {
    pub(super) fn new() -> (Self, mpsc::Receiver<Input>, mpsc::UnboundedReceiver<Input>) {
        let (reports, from_workers) = mpsc::channel(REPORTS_MAX);
        // Bounded by what the desk itself has set going: one append and one read per job.
        let (inner, from_within) = mpsc::unbounded_channel();
        (Self { reports, inner }, from_workers, from_within)
    }

    /// Brings what the process itself has found out.
    pub(super) fn bring(&self, input: Input) {
        // Closed only when the process ends.
        let _ = self.inner.send(input);
    }

    /// Brings what came over the network; false if too much waits.
    pub(super) fn bring_report(&self, input: Input) -> bool {
        self.reports.try_send(input).is_ok()
    }

    /// Whether a job is on the desk.
    pub(super) async fn holds(&self, job: JobId) -> bool {
        let (answer, held) = oneshot::channel();
        self.bring(Input::Holds(job, answer));
        held.await.unwrap_or(false)
    }

    /// How many jobs and nodes are on the desk; proves that the desk turns.
    pub(super) async fn load(&self) -> Option<(usize, usize)> {
        let (answer, load) = oneshot::channel();
        self.bring(Input::Load(answer));
        load.await.ok()
    }
}
