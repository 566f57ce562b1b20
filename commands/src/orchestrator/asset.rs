//! What the beginning and the end of a job mean for its asset (O-23). Only the orchestrator writes it.

use domain::asset::{self, Artifact, AssetId};
use domain::context::{Actor, Context, Role};
use domain::event::Event;
use domain::failure::{Failure, FailureClass};
use domain::id::JobId;
use domain::job;
use domain::json::{canonical, is_sha256_hex, sha256_hex};
use serde_json::Value;

use crate::log::{Append, Expected, LogError};
use crate::write::{Writer, meta};

/// A job's news for its asset.
pub(crate) enum News {
    Began,
    Ended(Box<job::Event>),
}

impl Writer {
    /// What the asset's stream gets; nothing if it has moved on to another job. A job that ends with
    /// its first append has both to tell, its beginning and its end.
    pub(crate) async fn asset_news(
        &self,
        asset_id: AssetId,
        job_id: JobId,
        news: &[News],
    ) -> Result<Option<Append>, LogError> {
        let (mut state, version) = self.asset(asset_id).await?;
        let Some(org_id) = state.asset().map(|asset| asset.org_id.clone()) else {
            return Ok(None);
        };
        let actor = Actor {
            id: "orchestrator".to_owned(),
            role: Role::Orchestrator,
        };
        let context = Context {
            now: self.clock.now(),
            actor,
        };
        let mut events = Vec::new();
        for news in news {
            let command = match news {
                News::Began => asset::Command::BeginProcessing { job_id },
                News::Ended(event) => match ended(job_id, event) {
                    Some(command) => command,
                    None => continue,
                },
            };
            match asset::decide(&state, command, &context) {
                Ok(decision) => {
                    for event in decision.into_events() {
                        state = asset::evolve(state, &event);
                        events.push(event);
                    }
                }
                // Another job has taken the asset over, or it was deleted: the job itself goes on.
                Err(rejection) => {
                    tracing::info!(%asset_id, %job_id, %rejection, "the asset does not follow the job");
                }
            }
        }
        if events.is_empty() {
            return Ok(None);
        }
        Ok(Some(Append {
            stream: format!("asset:{asset_id}"),
            expected: Expected::Version(version),
            org_id,
            meta: meta("orchestrator", Some(job_id.to_string())),
            events: events.into_iter().map(Event::Asset).collect(),
            open_job: None,
            closes: false,
        }))
    }
}

fn ended(job_id: JobId, event: &job::Event) -> Option<asset::Command> {
    match event {
        job::Event::JobCompleted { result } => Some(asset::Command::CompleteProcessing {
            job_id,
            content_hash: content_hash(result),
            artifacts: artifacts(result),
        }),
        job::Event::JobFailed { failure, .. } => Some(asset::Command::FailProcessing {
            job_id,
            failure: failure.clone(),
        }),
        job::Event::JobCancelled { reason } => Some(asset::Command::FailProcessing {
            job_id,
            failure: Failure::new(FailureClass::Cancelled, "job_cancelled", reason),
        }),
        _ => None,
    }
}

/// The hash that the workflow gives as `content_hash`, or that of its whole result.
fn content_hash(result: &Value) -> String {
    match result.get("content_hash").and_then(Value::as_str) {
        Some(hash) if is_sha256_hex(hash) => hash.to_owned(),
        _ => sha256_hex(canonical(result).as_bytes()),
    }
}

/// What the workflow lists as `artifacts` in its result.
fn artifacts(result: &Value) -> Vec<Artifact> {
    let listed = result.get("artifacts").cloned().unwrap_or_default();
    serde_json::from_value(listed).unwrap_or_default()
}
