//! Looking a job up, wherever it is on its way into the read models.

use domain::id::JobId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::model::{OPEN_JOB, OpenJob};
use crate::client::Client;
use crate::exit::Stop;

/// A job as it can be seen from outside.
pub(super) enum Found<T> {
    /// And what the orchestrators know of it, unless it has ended.
    Job(T, Option<OpenJob>),
    /// Only its request is there, or the read models have not come to it yet.
    Waiting(OpenJob),
}

/// What is asked about a job.
pub(super) struct About {
    pub(super) job: JobId,
    /// More parameters of the document, each with a comma in front.
    pub(super) params: &'static str,
    /// The wanted fields of the job.
    pub(super) fields: String,
    /// Values of the parameters, and `waitFor` if there is a position to wait for.
    pub(super) variables: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Both<T> {
    job: Option<T>,
    open_job: Option<OpenJob>,
}

#[derive(Deserialize)]
struct Head {
    head: i64,
}

impl About {
    /// A question without parameters.
    pub(super) fn plain(job: JobId, fields: &str) -> Self {
        Self {
            job,
            params: "",
            fields: fields.to_owned(),
            variables: json!({}),
        }
    }

    /// Asks, and asks again when the read models are certain to have it.
    pub(super) async fn ask<T: DeserializeOwned>(
        self,
        client: &Client,
    ) -> anyhow::Result<Found<T>> {
        let Self {
            job,
            params,
            fields,
            mut variables,
        } = self;
        let document = format!(
            "query($id: String!, $waitFor: Position{params}) {{ \
                 job(id: $id, waitFor: $waitFor) {{ {fields} }} \
                 openJob(id: $id) {{ {OPEN_JOB} }} }}"
        );
        variables["id"] = job.to_string().into();
        let both: Both<T> = client.ask(&document, variables.clone()).await?;
        if let Some(found) = both.found() {
            return Ok(found);
        }
        // It may have ended between the two looks, faster than the read models are.
        let now: Head = client.ask("{ head }", Value::Null).await?;
        variables["waitFor"] = now.head.into();
        let both: Both<T> = client.ask(&document, variables).await?;
        both.found().ok_or_else(|| no_job(job))
    }
}

impl<T> Both<T> {
    fn found(self) -> Option<Found<T>> {
        match (self.job, self.open_job) {
            (Some(job), open) => Some(Found::Job(job, open)),
            (None, Some(open)) => Some(Found::Waiting(open)),
            (None, None) => None,
        }
    }
}

pub(super) fn no_job(id: JobId) -> anyhow::Error {
    let message = format!("there is no job {id}, or its request was withdrawn");
    Stop::not_found(message, "strata job list")
}
