//! Submit: a request and, if it is new, its asset, in one group (O-20, O-22). No job exists yet.

use domain::asset::{self, AssetId};
use domain::context::{Actor, Context, Role};
use domain::definition::{InputProblem, resolve_inputs};
use domain::event::Event;
use domain::id::{JobId, RequestId};
use domain::message::JobMessage;
use domain::platform::{self, Refs};
use domain::priority::Priority;
use domain::request::{self, CallbackRef, Fork, Inputs, Submission};
use domain::trace::TraceParent;

use crate::appender::{AppendError, Appended};
use crate::definitions::{Definition, NoDefinition};
use crate::log::{Append, Expected, LogError, Meta, OpenJob};
use crate::secrets;
use crate::write::{Writer, fresh_id, meta, version_of};

/// How often a lost race is tried again.
const TRIES: usize = 5;

/// Longest idempotency key.
pub const KEY_BYTES_MAX: usize = 256;

/// What somebody asks for.
#[derive(Debug, Clone)]
pub struct Order {
    pub org_id: String,
    /// Opaque id of whoever asks.
    pub actor: String,
    pub platform_id: String,
    /// Identifies the asset; empty if the work is for none.
    pub refs: Refs,
    pub workflow_id: String,
    pub workflow_version: Option<u32>,
    pub inputs: Inputs,
    pub priority: Option<Priority>,
    pub callbacks: Vec<CallbackRef>,
    pub retry_of: Option<JobId>,
    pub forked_from: Option<Fork>,
    /// The same key of the same organisation always stands for the same request.
    pub idempotency_key: Option<String>,
    /// The trace (W3C `traceparent`) that it belongs to; one that is not valid is left out.
    pub trace: Option<String>,
}

/// A request that is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    pub request_id: RequestId,
    pub job_id: JobId,
    pub asset_id: Option<AssetId>,
    /// Position in the log; readers may wait for it.
    pub pos: u64,
    /// It had been submitted before, with the same body.
    pub repeated: bool,
}

/// Why a request was not accepted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Workflow(#[from] NoDefinition),
    #[error("{}", inputs_text(.0))]
    Inputs(Vec<InputProblem>),
    #[error("platform `{0}` is not registered")]
    UnknownPlatform(String),
    #[error("refs of platform `{platform}`: {problems}")]
    Refs { platform: String, problems: String },
    #[error("an idempotency key has 1 to {KEY_BYTES_MAX} bytes, and is not blank")]
    Key,
    #[error("the asset that these refs name is not one of yours")]
    AssetOfAnother,
    #[error(transparent)]
    Rejected(#[from] request::Rejection),
    #[error(transparent)]
    Asset(#[from] asset::Rejection),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error("others keep writing to the same asset; try again")]
    Contended,
}

fn inputs_text(problems: &[InputProblem]) -> String {
    let each = problems
        .iter()
        .map(|p| format!("input `{}`: {}", p.name, p.message));
    each.collect::<Vec<_>>().join("; ")
}

impl Writer {
    /// Accepts a request, or says why not. Answers when it is committed, and wakes orchestrators.
    pub async fn submit(&self, order: Order) -> Result<Submitted, SubmitError> {
        self.submit_titled(order, None).await
    }

    /// The same; if the asset is new, people will see it under this title.
    pub async fn submit_titled(
        &self,
        order: Order,
        title: Option<&str>,
    ) -> Result<Submitted, SubmitError> {
        let trace: Option<TraceParent> = order.trace.as_deref().and_then(|t| t.parse().ok());
        let submission = self.prepare(order).await?;
        let (submission, actor) = (Box::new(submission.0), submission.1);
        let role = Role::Platform;
        let context = self.context(Actor { id: actor, role });
        for _ in 0..TRIES {
            let tried = self.try_submit(&submission, title, &context, trace);
            match tried.await {
                Err(SubmitError::Append(AppendError::Conflict { .. })) => {
                    if let Some(known) = self.known(&submission, &context).await? {
                        return Ok(known);
                    }
                }
                Ok(submitted) => {
                    self.wake(&submission).await;
                    return Ok(submitted);
                }
                Err(error) => return Err(error),
            }
        }
        Err(SubmitError::Contended)
    }

    /// Checks what can be checked without a job, and fixes the version that will run.
    async fn prepare(&self, mut order: Order) -> Result<(Submission, String), SubmitError> {
        let definition = self
            .definitions
            .find(&order.workflow_id, order.workflow_version)
            .await?;
        resolve_inputs(&definition.workflow.inputs, &order.inputs).map_err(SubmitError::Inputs)?;
        let asset_id = if order.refs.is_empty() {
            None
        } else {
            self.check_refs(&order).await?;
            Some(AssetId::derive(&order.platform_id, &order.refs))
        };
        let request_id = match &order.idempotency_key {
            Some(key) if key.trim().is_empty() || key.len() > KEY_BYTES_MAX => {
                return Err(SubmitError::Key);
            }
            Some(key) => RequestId::from_key(&order.org_id, key),
            None => RequestId::new(fresh_id()),
        };
        for callback in &mut order.callbacks {
            callback
                .secret_ref
                .get_or_insert_with(|| secrets::DEFAULT.to_owned());
        }
        let actor = std::mem::take(&mut order.actor);
        let mut submission = draft(order, request_id, asset_id, &definition);
        submission.workflow_version = Some(definition.graph.workflow.version);
        Ok((submission, actor))
    }

    async fn check_refs(&self, order: &Order) -> Result<(), SubmitError> {
        let state = self.platform(&order.platform_id).await?;
        if state.platform().is_none() {
            let id = order.platform_id.chars().take(80).collect();
            return Err(SubmitError::UnknownPlatform(id));
        }
        platform::check_refs(&state, &order.refs).map_err(|problems| SubmitError::Refs {
            platform: order.platform_id.clone(),
            problems: problems
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("; "),
        })
    }

    /// What is known of a platform.
    pub(crate) async fn platform(&self, id: &str) -> Result<platform::State, LogError> {
        let stream = format!("platform:{id}");
        let recorded = self.log.read_stream(&stream, 0, usize::MAX).await?;
        let mut state = platform::State::default();
        for recorded in &recorded {
            if let Ok(Event::Platform(event)) = recorded.decode() {
                state = platform::evolve(state, &event);
            }
        }
        Ok(state)
    }

    async fn try_submit(
        &self,
        submission: &Submission,
        title: Option<&str>,
        context: &Context,
        trace: Option<TraceParent>,
    ) -> Result<Submitted, SubmitError> {
        let state = request::State::default();
        let command = request::Command::Submit(Box::new(submission.clone()));
        let events = request::decide(&state, command, context)?.into_events();
        let job_id = JobId::of_request(submission.request_id);
        let request_id = submission.request_id.to_string();
        let meta = Meta {
            trace: trace.map(String::from),
            ..meta(&context.actor.id, Some(request_id.clone()))
        };
        let mut group = vec![Append {
            stream: format!("request:{request_id}"),
            expected: Expected::Version(0),
            org_id: submission.org_id.clone(),
            meta: meta.clone(),
            events: events.into_iter().map(Event::Request).collect(),
            open_job: Some(OpenJob::Open {
                job_id: job_id.to_string(),
                request_id,
            }),
            closes: false,
        }];
        if let Some(asset_id) = submission.asset_id {
            let (state, version) = self.asset(asset_id).await?;
            // The id follows from platform and refs alone (O-02): two organisations may name the same.
            if let Some(asset) = state.asset()
                && asset.org_id != submission.org_id
            {
                return Err(SubmitError::AssetOfAnother);
            }
            if version == 0 {
                let command = asset::Command::Create {
                    asset_id,
                    org_id: submission.org_id.clone(),
                    platform_id: submission.platform_id.clone(),
                    platform_refs: submission.refs.clone(),
                    title: title.map(str::to_owned),
                };
                let events = asset::decide(&state, command, context)?.into_events();
                group.push(Append {
                    stream: format!("asset:{asset_id}"),
                    expected: Expected::Version(0),
                    org_id: submission.org_id.clone(),
                    meta,
                    events: events.into_iter().map(Event::Asset).collect(),
                    open_job: None,
                    closes: false,
                });
            }
        }
        let Appended { pos, .. } = self.appender.append(&group).await?;
        Ok(Submitted {
            request_id: submission.request_id,
            job_id,
            asset_id: submission.asset_id,
            pos,
            repeated: false,
        })
    }

    /// The same request if it is in the log already; an error if the body is another.
    pub(crate) async fn known(
        &self,
        submission: &Submission,
        context: &Context,
    ) -> Result<Option<Submitted>, SubmitError> {
        let stream = format!("request:{}", submission.request_id);
        let recorded = self.log.read_stream(&stream, 0, usize::MAX).await?;
        let Some(first) = recorded.first() else {
            return Ok(None);
        };
        let mut state = request::State::default();
        for recorded in &recorded {
            if let Ok(Event::Request(event)) = recorded.decode() {
                state = request::evolve(state, &event);
            }
        }
        let command = request::Command::Submit(Box::new(submission.clone()));
        request::decide(&state, command, context)?;
        Ok(Some(Submitted {
            request_id: submission.request_id,
            job_id: JobId::of_request(submission.request_id),
            asset_id: submission.asset_id,
            pos: first.pos,
            repeated: true,
        }))
    }

    /// An asset and the version of its stream.
    pub(crate) async fn asset(&self, id: AssetId) -> Result<(asset::State, u64), LogError> {
        let stream = format!("asset:{id}");
        let recorded = self.log.read_stream(&stream, 0, usize::MAX).await?;
        let mut state = asset::State::default();
        for recorded in &recorded {
            if let Ok(Event::Asset(event)) = recorded.decode() {
                state = asset::evolve(state, &event);
            }
        }
        Ok((state, version_of(&recorded)))
    }

    /// Tells orchestrators that a request waits. If it is lost, they find the request by themselves.
    async fn wake(&self, submission: &Submission) {
        let Some(bus) = &self.bus else { return };
        // The answer of JetStream is not waited for: it would only delay the caller.
        bus.hint(
            bus.subjects.orchestrator_jobs(),
            &JobMessage::from(submission),
        )
        .await;
    }
}

/// What the caller asks for, with the hash of it: the version is fixed only after that.
pub(crate) fn draft(
    order: Order,
    request_id: RequestId,
    asset_id: Option<AssetId>,
    definition: &Definition,
) -> Submission {
    let mut submission = Submission {
        request_id,
        org_id: order.org_id,
        platform_id: order.platform_id,
        asset_id,
        refs: order.refs,
        workflow_id: order.workflow_id,
        workflow_version: order.workflow_version,
        inputs: order.inputs,
        priority: order.priority.unwrap_or(definition.graph.priority),
        retry_of: order.retry_of,
        forked_from: order.forked_from,
        callbacks: order.callbacks,
        body_hash: String::new(),
    };
    submission.body_hash = request::body_hash(&submission);
    submission
}
