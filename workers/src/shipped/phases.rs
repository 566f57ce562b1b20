//! A task in phases: the model of every long handler.
//!
//! After each phase its artifact is stored and a checkpoint is saved; a later run goes on after the
//! last phase whose artifact is still what it was.

use bytes::Bytes;
use domain::failure::Failure;
use domain::job::checkpoint::Artifact;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::echo::pause;
use crate::handler::{Context, Done, Handler, Phase, Resume};

/// How many of the latest artifacts a checkpoint names: it must stay small.
const ARTIFACTS_KEPT: usize = 8;

/// Passes through phases and saves a checkpoint after each.
pub struct MultiPhase;

#[derive(Deserialize)]
pub struct PhaseParams {
    phases: u32,
    phase_delay: f64,
}

#[derive(Serialize)]
pub struct Phases {
    phases_completed: u32,
    resumed: bool,
}

impl Handler for MultiPhase {
    const NAME: &'static str = "multi_phase";
    type Params = PhaseParams;
    type Output = Phases;

    async fn run(&self, ctx: &Context, params: PhaseParams) -> Result<Done<Phases>, Failure> {
        let resume = ctx.load_checkpoint().await;
        let (first, mut artifacts) = resume.as_ref().map_or((0, Vec::new()), standing);
        if let Some(resume) = &resume {
            let valid = resume.is_valid();
            ctx.info(&format!(
                "going on with phase {first}; all artifacts valid: {valid}"
            ));
        }
        for index in first..params.phases {
            pause(ctx, params.phase_delay).await?;
            ctx.info(&format!("phase {index} is done"));
            let key = ctx.output_key(&format!("phase-{index}.json"));
            let content = json!({"phase": index}).to_string();
            let blob = ctx.store().put(&key, Bytes::from(content)).await?;
            artifacts.push(Artifact {
                uri: blob.uri,
                sha256: Some(blob.sha256),
            });
            if artifacts.len() > ARTIFACTS_KEPT {
                artifacts.remove(0);
            }
            ctx.progress(u64::from(index) + 1, u64::from(params.phases), "");
            ctx.save_checkpoint(Phase {
                name: format!("phase-{index}"),
                index,
                total: params.phases,
                state: json!({"phases_completed": index + 1}),
                artifacts: artifacts.clone(),
                is_final: index + 1 == params.phases,
            })
            .await?;
        }
        let done = Done::from(Phases {
            phases_completed: params.phases,
            resumed: first > 0,
        });
        Ok(done.metric("phases_run", params.phases.saturating_sub(first)))
    }
}

/// The first phase to run, and the artifacts of those before it.
fn standing(resume: &Resume) -> (u32, Vec<Artifact>) {
    let kept = &resume.checkpoint.artifacts;
    let good = kept
        .iter()
        .take_while(|artifact| !resume.invalid.contains(artifact))
        .count();
    let lost = u32::try_from(kept.len() - good).unwrap_or(u32::MAX);
    let done = resume.checkpoint.phase_index.saturating_add(1);
    (
        done.saturating_sub(lost),
        kept.iter().take(good).cloned().collect(),
    )
}
