//! Asking for work.

use async_graphql::{Context, InputObject, Json, Object, SimpleObject};
use commands::submit::{Order, Submitted};
use domain::access::Role;
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value};

use crate::app::Core;
use crate::error::Fault;
use crate::graphql::context::{Position, core, viewer};
use crate::graphql::words::Priority;
use crate::rest::callbacks::{CallbackWish, callbacks_of};
use crate::viewer::Viewer;

/// Submissions of one call.
const BULK_MAX: usize = 1_000;
/// Of these, so many are on their way to the log at once; they share commits.
const AT_ONCE: usize = 256;

/// Work that somebody wants.
#[derive(InputObject)]
pub(super) struct SubmitInput {
    /// The workflow to run.
    workflow: String,
    /// A version of it; the latest without.
    version: Option<u32>,
    /// What it is started with.
    inputs: Option<Json<Map<String, Value>>>,
    priority: Option<Priority>,
    /// The partner system whose asset it is about; `strata` without.
    platform: Option<String>,
    /// What identifies the asset there; the work is for no asset without.
    refs: Option<Json<Map<String, Value>>>,
    /// The same key always stands for the same request.
    idempotency_key: Option<String>,
    /// Who is told when the job has ended; at most eight.
    callbacks: Option<Vec<CallbackInput>>,
}

/// An address to call when the job has ended. It has no `Debug`: the secret must show nowhere.
#[derive(InputObject)]
pub(super) struct CallbackInput {
    url: String,
    /// Signs the call; the organisation's own secret without.
    secret: Option<String>,
    /// Tries after the first one; eleven without.
    retry_count: Option<u32>,
    /// How long the receiver may take; thirty without.
    timeout_seconds: Option<u32>,
}

/// Work that is in the log.
#[derive(Debug, SimpleObject)]
pub(super) struct SubmitPayload {
    position: Position,
    request_id: String,
    /// The id that its job has, or will have.
    job_id: String,
    asset_id: Option<String>,
    /// It had been submitted before, with the same content.
    repeated: bool,
}

impl From<Submitted> for SubmitPayload {
    fn from(submitted: Submitted) -> Self {
        Self {
            position: submitted.pos.into(),
            request_id: submitted.request_id.to_string(),
            job_id: submitted.job_id.to_string(),
            asset_id: submitted.asset_id.map(|id| id.to_string()),
            repeated: submitted.repeated,
        }
    }
}

/// What became of one of many submissions.
#[derive(Debug, SimpleObject)]
pub(super) struct SubmitOutcome {
    /// Its place in the list.
    index: usize,
    submitted: Option<SubmitPayload>,
    /// Why it was not accepted: `{code, category, message, remediation}`.
    error: Option<Json<Value>>,
}

#[derive(Default)]
pub(super) struct Submissions;

#[Object]
impl Submissions {
    /// Asks for work. The answer comes when the request is in the log; its job is made by an orchestrator.
    async fn submit_job(
        &self,
        ctx: &Context<'_>,
        input: SubmitInput,
    ) -> async_graphql::Result<SubmitPayload> {
        let viewer = viewer(ctx)?.require(Role::Writer)?;
        Ok(submit(core(ctx)?, viewer, input).await?)
    }

    /// The same for many at once. Each is accepted or refused by itself.
    #[graphql(complexity = "100 + 10 * child_complexity")]
    async fn submit_jobs(
        &self,
        ctx: &Context<'_>,
        inputs: Vec<SubmitInput>,
    ) -> async_graphql::Result<Vec<SubmitOutcome>> {
        let viewer = viewer(ctx)?.require(Role::Writer)?;
        if inputs.len() > BULK_MAX {
            let message = format!(
                "one call takes at most {BULK_MAX} submissions, not {}",
                inputs.len()
            );
            return Err(Fault::invalid("TOO_MANY", message, "send them in several calls").into());
        }
        let core = core(ctx)?;
        let each = inputs
            .into_iter()
            .enumerate()
            .map(|(index, input)| async move {
                match submit(core, viewer, input).await {
                    Ok(payload) => SubmitOutcome {
                        index,
                        submitted: Some(payload),
                        error: None,
                    },
                    Err(fault) => SubmitOutcome {
                        index,
                        submitted: None,
                        error: serde_json::to_value(fault).ok().map(Json),
                    },
                }
            });
        Ok(stream::iter(each).buffered(AT_ONCE).collect().await)
    }
}

impl CallbackInput {
    fn named(self, place: usize) -> CallbackWish {
        CallbackWish {
            place: format!("callbacks[{place}]."),
            url: self.url,
            secret: self.secret,
            retry_count: self.retry_count,
            timeout_seconds: self.timeout_seconds,
        }
    }
}

async fn submit(core: &Core, viewer: &Viewer, input: SubmitInput) -> Result<SubmitPayload, Fault> {
    let wishes = input.callbacks.unwrap_or_default().into_iter().enumerate();
    let wishes: Vec<CallbackWish> = wishes.map(|(place, wish)| wish.named(place)).collect();
    let (pool, rules) = (&core.pool, &core.callback_rules);
    let callbacks = callbacks_of(pool, rules, viewer.org(), &wishes, true).await?;
    let order = Order {
        org_id: viewer.org().to_owned(),
        actor: viewer.actor().to_owned(),
        platform_id: input.platform.unwrap_or_else(|| "strata".to_owned()),
        refs: input.refs.map(|refs| refs.0).unwrap_or_default(),
        workflow_id: input.workflow,
        workflow_version: input.version,
        inputs: input.inputs.map(|inputs| inputs.0).unwrap_or_default(),
        priority: input.priority.map(Priority::domain),
        callbacks,
        retry_of: None,
        forked_from: None,
        idempotency_key: input.idempotency_key,
        trace: viewer.trace.clone(),
    };
    Ok(core.writer.submit(order).await?.into())
}
