//! Registers workflow files and seeded platforms when an orchestrator starts.

use std::path::Path;

use commands::register::{RegisterError, Registered};
use commands::write::Writer;

use crate::exit::Stop;
use crate::shipped;
use crate::source;

/// Registers every file; a bad one is named and blocks no other (P-14).
pub(super) async fn all(writer: &Writer, dir: Option<&Path>) -> anyhow::Result<()> {
    writer.register_platforms().await.map_err(unanswered)?;
    match dir {
        None => {
            for (name, text) in shipped::WORKFLOWS {
                one(writer, name, text.as_bytes()).await?;
            }
        }
        Some(dir) => {
            if !dir.is_dir() {
                let message = format!("--workflows: {} is not a folder", dir.display());
                return Err(Stop::usage(message, "strata workflow validate FILE"));
            }
            for file in source::files_of(dir)? {
                let name = file.display().to_string();
                match std::fs::read(&file) {
                    Ok(text) => one(writer, &name, &text).await?,
                    Err(error) => {
                        tracing::error!(file = name, %error, "a workflow file cannot be read");
                    }
                }
            }
        }
    }
    Ok(())
}

async fn one(writer: &Writer, file: &str, text: &[u8]) -> anyhow::Result<()> {
    match writer.register_workflow(text).await.map_err(unanswered)? {
        Registered::New { id, version } => {
            tracing::info!(file, "workflow {id} version {version} is registered");
        }
        Registered::Known { id, version } => {
            tracing::debug!(file, "workflow {id} version {version} is known");
        }
        Registered::Invalid { problems } => tracing::error!(
            file,
            problems = problems.len(),
            first = problems
                .first()
                .map(|p| p.message.as_str())
                .unwrap_or_default(),
            "an invalid workflow file is left out: `strata workflow validate {file}` explains it"
        ),
        Registered::Refused { id, reason } => {
            tracing::error!(file, "workflow {id} is not registered: {reason}");
        }
    }
    Ok(())
}

fn unanswered(error: RegisterError) -> anyhow::Error {
    Stop::unreachable(error.to_string(), "strata doctor")
}
