//! Fork: a new request whose job starts an ended one again in the middle, perhaps with other inputs.

use domain::definition::resolve_inputs;
use domain::id::JobId;
use domain::job::{Plan, plan_fork};
use domain::request::{Fork, Inputs};

use crate::older::{Older, ReuseError, Reusing};
use crate::submit::{Order, SubmitError};
use crate::write::Writer;

/// What somebody wants of an ended job.
#[derive(Debug, Clone)]
pub struct ForkOrder {
    pub job: JobId,
    /// Names of the nodes to start again from; without any, it starts where a changed input is read.
    pub at: Vec<String>,
    /// Inputs with another value; all others stay what they were.
    pub inputs: Inputs,
    /// The same key of the same organisation always stands for the same request. Each call without one is a
    /// fork of its own.
    pub idempotency_key: Option<String>,
    /// Opaque id of whoever asks.
    pub actor: String,
    /// The trace (W3C `traceparent`) that it belongs to; one that is not valid is left out.
    pub trace: Option<String>,
}

impl Writer {
    /// Submits the work of an ended job once more. What is taken over is written by the orchestrator that
    /// makes the job, by the same rules; an ended job does not change any more, so it is this plan.
    pub async fn fork(&self, order: ForkOrder) -> Result<Reusing, ReuseError> {
        let (older, fork, plan) = self.planned(&order).await?;
        let before = older.order(&order.actor);
        let submitted = self
            .submit(Order {
                inputs: overlaid(before.inputs, order.inputs),
                forked_from: Some(fork),
                idempotency_key: order.idempotency_key,
                trace: order.trace,
                ..before
            })
            .await?;
        Ok(Reusing { submitted, plan })
    }

    /// What a fork would take over and run; nothing is written.
    pub async fn preview_fork(&self, order: &ForkOrder) -> Result<Plan, ReuseError> {
        Ok(self.planned(order).await?.2)
    }

    async fn planned(&self, order: &ForkOrder) -> Result<(Older, Fork, Plan), ReuseError> {
        let older = self.older(order.job).await?;
        let workflow = &older.state.graph().workflow;
        let definition = self
            .definitions
            .find(&workflow.id, Some(workflow.version))
            .await
            .map_err(SubmitError::from)?;
        let given = overlaid(older.submission.inputs.clone(), order.inputs.clone());
        let inputs = resolve_inputs(&definition.workflow.inputs, &given);
        let inputs = inputs.map_err(SubmitError::Inputs)?;
        let mut at = order.at.clone();
        at.sort();
        at.dedup();
        let plan = plan_fork(&older.state, &at, &inputs)?;
        let job_id = order.job;
        Ok((older, Fork { job_id, at }, plan))
    }
}

fn overlaid(mut before: Inputs, given: Inputs) -> Inputs {
    before.extend(given);
    before
}
