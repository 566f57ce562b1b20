//! Requests become jobs: competing orchestrators take them from one queue, and the log decides.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::{self, AckKind};
use bus::Bus;
use domain::context::{Actor, Role};
use domain::definition::resolve_inputs;
use domain::event::Event as AnyEvent;
use domain::id::{JobId, OwnerId, RequestId};
use domain::job::command::Create;
use domain::job::event::{JobCreated, Origin};
use domain::job::{Fence, Plan, State, plan_fork, plan_retry};
use domain::message::JobMessage;
use domain::request::{self, Progress, Submission};
use domain::trace::TraceParent;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::door::{Door, Input};
use super::held::Held;
use super::load::LoadError;
use super::options::CLAIMS_MAX;
use crate::dead_letter;
use crate::log::{Append, Expected, LogError, Meta};
use crate::write::{Writer, meta};

/// Requests that are taken at once: few, so that other orchestrators get their share.
const BATCH: usize = 64;
/// How long a request that was tried before may take to be in the log before the next one is tried.
const TAKEN: Duration = Duration::from_secs(5);
/// The longest pause while the queue or the database is away.
const PAUSE: Duration = Duration::from_millis(500);

/// Turns requests into jobs on the desk.
#[derive(Clone)]
pub(super) struct Intake {
    pub(super) writer: Writer,
    pub(super) bus: Bus,
    pub(super) door: Door,
    pub(super) owner: OwnerId,
    pub(super) env: Map<String, Value>,
    pub(super) fail_fast: bool,
    pub(super) jobs_max: usize,
    pub(super) nodes_max: usize,
}

/// A request as the log has it.
#[derive(Default)]
struct Waiting {
    state: request::State,
    version: u64,
    trace: Option<TraceParent>,
}

impl Intake {
    /// Takes requests from the queue until the end.
    pub(super) async fn run(self, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            let Ok(consumer) = self.bus.jobs_consumer().await else {
                pause(&shutdown).await;
                continue;
            };
            let messages = consumer
                .stream()
                .max_messages_per_batch(BATCH)
                .expires(Duration::from_secs(10))
                .heartbeat(Duration::from_secs(3))
                .messages()
                .await;
            let Ok(messages) = messages else {
                pause(&shutdown).await;
                continue;
            };
            let mut chunks = messages.ready_chunks(BATCH);
            loop {
                self.wait_for_room(&shutdown).await;
                let chunk = tokio::select! {
                    () = shutdown.cancelled() => return,
                    chunk = chunks.next() => chunk,
                };
                let Some(chunk) = chunk else { break };
                let count = chunk.len();
                let good: Vec<_> = chunk.into_iter().filter_map(Result::ok).collect();
                let broken = good.len() < count;
                self.accept(good).await;
                if broken {
                    // The consumer is gone or misses heartbeats: make it again.
                    pause(&shutdown).await;
                    break;
                }
            }
        }
    }

    async fn wait_for_room(&self, shutdown: &CancellationToken) {
        while !shutdown.is_cancelled() && !self.has_room().await {
            pause(shutdown).await;
        }
    }

    /// Whether the budget of jobs and nodes allows more.
    pub(super) async fn has_room(&self) -> bool {
        let Some((jobs, nodes)) = self.door.load().await else {
            return false;
        };
        jobs < self.jobs_max && nodes < self.nodes_max
    }

    async fn accept(&self, messages: Vec<jetstream::Message>) {
        let mut acks = BTreeMap::new();
        let mut again = BTreeMap::new();
        for message in messages {
            match serde_json::from_slice::<JobMessage>(&message.payload) {
                Ok(job) => {
                    let is_again = message.info().is_ok_and(|info| info.delivered > 1);
                    let kind = if is_again { &mut again } else { &mut acks };
                    if let Some(twice) = kind.insert(job.request_id, message) {
                        let _ = twice.ack().await;
                    }
                }
                Err(error) => {
                    let reason = error.to_string();
                    dead_letter::send(&self.bus, &message.subject, &reason, &message.payload).await;
                    let _ = message.ack_with(AckKind::Term).await;
                }
            }
        }
        let requests: Vec<RequestId> = acks.keys().copied().collect();
        let fresh = self.claim(&requests, acks).await.map(drop);
        if let Err(error) = fresh.and(self.claim_counted(again).await) {
            // Not acknowledged, so they come again; and the sweep looks, too.
            tracing::warn!(%error, "requests could not be read");
        }
    }

    /// Takes requests that were tried before, perhaps by somebody whom one of them killed. That is counted,
    /// and after a few times the request is left alone. One at a time, each until it is in the log:
    /// nothing must be counted against the neighbours of a request that kills.
    async fn claim_counted(
        &self,
        again: BTreeMap<RequestId, jetstream::Message>,
    ) -> Result<(), LogError> {
        for (request, message) in again {
            self.claim_again(request, Some(message)).await?;
        }
        Ok(())
    }

    /// One request that was tried before.
    pub(super) async fn claim_again(
        &self,
        request: RequestId,
        message: Option<jetstream::Message>,
    ) -> Result<(), LogError> {
        let job = JobId::of_request(request);
        if self.door.holds(job).await {
            // On its way: only its commit takes long.
            return Ok(());
        }
        let may = self.writer.log.count_tries(&[job], CLAIMS_MAX).await?;
        if may.is_empty() {
            // Owned by somebody, ended, or in quarantine: the message has nothing to add.
            if let Some(message) = message {
                let _ = message.ack().await;
            }
            return Ok(());
        }
        let acks = message.map(|message| (request, message)).into_iter();
        match self.claim(&[request], acks.collect()).await {
            Ok(taken) => {
                // One that cannot be prepared, in a way that will not pass, is counted.
                for taken in taken {
                    if let Ok(Ok(())) = tokio::time::timeout(TAKEN, taken).await {
                        self.writer.log.forgive(job).await?;
                    }
                }
                Ok(())
            }
            Err(error) => {
                self.writer.log.forgive(job).await?;
                Err(error)
            }
        }
    }

    /// Makes jobs of requests. Those that need none any more are acknowledged at once. What is returned
    /// ends when each job is in the log, or is given up.
    async fn claim(
        &self,
        requests: &[RequestId],
        mut acks: BTreeMap<RequestId, jetstream::Message>,
    ) -> Result<Vec<oneshot::Receiver<()>>, LogError> {
        let mut all_taken = Vec::new();
        if requests.is_empty() {
            return Ok(all_taken);
        }
        let streams: Vec<String> = requests.iter().map(|id| format!("request:{id}")).collect();
        let recorded = self.writer.log.read_streams(&streams).await?;
        let mut states: HashMap<String, Waiting> = HashMap::new();
        for recorded in recorded {
            let Ok(AnyEvent::Request(event)) = recorded.decode() else {
                continue;
            };
            // The first event is the submission, and the trace that it came with is the job's.
            let trace = recorded.trace().filter(|_| recorded.version == 1);
            let waiting = states.entry(recorded.stream_id).or_default();
            waiting.state = request::evolve(std::mem::take(&mut waiting.state), &event);
            waiting.version = recorded.version;
            waiting.trace = waiting.trace.or(trace);
        }
        for (request, stream) in requests.iter().zip(&streams) {
            let ack = acks.remove(request);
            let waiting = states.remove(stream).filter(|waiting| {
                let state = &waiting.state;
                state.submission().is_some() && *state.progress() == Progress::Waiting
            });
            let Some(waiting) = waiting else {
                // Withdrawn, assigned, or no request at all.
                if let Some(ack) = ack {
                    let _ = ack.ack().await;
                }
                continue;
            };
            let prepared = AssertUnwindSafe(self.prepare(&waiting));
            match prepared
                .catch_unwind()
                .await
                .unwrap_or(Err(LoadError::Panicked))
            {
                Ok((mut held, create)) => {
                    held.ack = ack;
                    let (taken, until) = oneshot::channel();
                    held.taken = Some(taken);
                    all_taken.push(until);
                    self.door
                        .bring(Input::New(Box::new(held), Box::new(create)));
                }
                Err(error) if error.is_transient() => {
                    return Err(LogError::Unavailable(error.to_string()));
                }
                Err(error) => {
                    tracing::error!(request_id = %request, %error, "a request cannot become a job");
                }
            }
        }
        Ok(all_taken)
    }

    async fn prepare(&self, waiting: &Waiting) -> Result<(Held, Create), LoadError> {
        let submission = waiting.state.submission().ok_or(LoadError::Empty)?;
        let job_id = JobId::of_request(submission.request_id);
        bus::fault::point_job(&job_id);
        let found = self
            .writer
            .definitions
            .find(&submission.workflow_id, submission.workflow_version)
            .await?;
        // Checked at submit, against the same version.
        let inputs = resolve_inputs(&found.workflow.inputs, &submission.inputs)
            .unwrap_or_else(|_| submission.inputs.clone());
        let mut create = Create {
            job: JobCreated {
                job_id,
                request_id: submission.request_id,
                workflow: found.graph.workflow.clone(),
                inputs,
                env: self.env.clone(),
                priority: submission.priority,
                fail_fast: self.fail_fast,
                origin: origin(submission),
            },
            reused_nodes: Vec::new(),
            reused_children: Vec::new(),
        };
        if let Some(plan) = self.plan(submission, &create.job.inputs).await? {
            create.reused_nodes = plan.nodes;
            create.reused_children = plan.children;
        }
        let fence = Fence {
            owner: self.owner,
            epoch: 1,
        };
        let ids = (job_id, submission.request_id);
        let org: Arc<str> = submission.org_id.as_str().into();
        let asset_id = submission.asset_id;
        let mut held = Held::new(ids, org, asset_id, fence, State::new(found.graph), 0);
        held.trace = waiting.trace;
        held.companions = vec![self.assignment(waiting, submission, job_id)?];
        Ok((held, create))
    }

    /// What the new job takes over, if it is made from an older one. That one has ended, so this is what
    /// whoever asked was told.
    async fn plan(
        &self,
        submission: &Submission,
        inputs: &Map<String, Value>,
    ) -> Result<Option<Plan>, LoadError> {
        let planned = if let Some(older) = submission.retry_of {
            plan_retry(&self.writer.fold_job(older).await?.state)
        } else if let Some(fork) = &submission.forked_from {
            let older = self.writer.fold_job(fork.job_id).await?;
            plan_fork(&older.state, &fork.at, inputs)
        } else {
            return Ok(None);
        };
        // Without a plan everything runs, which is never wrong.
        Ok(planned.ok())
    }

    /// What the request gets in the commit that makes the job.
    fn assignment(
        &self,
        waiting: &Waiting,
        submission: &Submission,
        job_id: JobId,
    ) -> Result<Append, LogError> {
        let actor = Actor {
            id: "orchestrator".to_owned(),
            role: Role::Orchestrator,
        };
        let context = self.writer.context(actor);
        let command = request::Command::AssignJob { job_id };
        let decided = request::decide(&waiting.state, command, &context);
        let events = decided.map(domain::outcome::Decision::into_events);
        let events = events.map_err(|error| LogError::Refused(error.to_string()))?;
        let request_id = submission.request_id.to_string();
        Ok(Append {
            stream: format!("request:{request_id}"),
            expected: Expected::Version(waiting.version),
            org_id: submission.org_id.clone(),
            meta: Meta {
                trace: waiting.trace.map(String::from),
                ..meta("orchestrator", Some(request_id))
            },
            events: events.into_iter().map(AnyEvent::Request).collect(),
            open_job: None,
            closes: false,
        })
    }
}

fn origin(submission: &Submission) -> Option<Origin> {
    let retry = submission.retry_of.map(Origin::RetryOf);
    let fork = submission.forked_from.as_ref();
    retry.or_else(|| fork.map(|fork| Origin::ForkedFrom(fork.job_id)))
}

async fn pause(shutdown: &CancellationToken) {
    tokio::select! {
        () = tokio::time::sleep(PAUSE) => {}
        () = shutdown.cancelled() => {}
    }
}
