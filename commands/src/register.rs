//! Registers what an installation starts with: workflow files and the seeded platforms.

use domain::context::{Actor, Role};
use domain::definition::{self, Diagnostic};
use domain::event::Event;
use domain::{platform, workflow};

use crate::appender::AppendError;
use crate::log::{Append, Expected, LogError};
use crate::write::{Writer, meta, version_of};

/// How often a lost race is tried again.
const TRIES: usize = 5;
/// The organisation that definitions and platforms belong to.
const SYSTEM: &str = "strata";

/// What became of one workflow file.
#[derive(Debug, Clone)]
pub enum Registered {
    New {
        id: String,
        version: u32,
    },
    Known {
        id: String,
        version: u32,
    },
    /// It is listed as invalid and blocks no other file.
    Invalid {
        problems: Vec<Diagnostic>,
    },
    /// The same version has other content.
    Refused {
        id: String,
        reason: String,
    },
}

/// Why nothing could be registered at all.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RegisterError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Platform(platform::Rejection),
    #[error("others keep registering the same; try again")]
    Contended,
}

fn actor() -> Actor {
    Actor {
        id: SYSTEM.to_owned(),
        role: Role::Platform,
    }
}

impl Writer {
    /// Registers one workflow file; idempotent by content.
    pub async fn register_workflow(&self, file: &[u8]) -> Result<Registered, RegisterError> {
        let catalog = self.definitions.catalog();
        let loaded = match definition::load(file, catalog) {
            Ok(loaded) => loaded,
            Err(problems) => return Ok(Registered::Invalid { problems }),
        };
        let (id, version) = (loaded.workflow_id.clone(), loaded.version);
        let hash = definition::content_hash(&loaded);
        let handlers = match definition::compile(&loaded, &hash, catalog) {
            Ok(graph) => graph.pins(catalog),
            // What the validator accepts compiles; if not, that must be said all the same.
            Err(error) => {
                let reason = error.to_string();
                return Ok(Registered::Refused { id, reason });
            }
        };
        let stream = format!("workflow:{id}");
        for _ in 0..TRIES {
            let events = self.log.read_stream(&stream, 0, usize::MAX).await?;
            let state = self.definitions.state(&id).await?;
            let command = workflow::Command::Register {
                version,
                hash: hash.clone(),
                source: String::from_utf8_lossy(file).into_owned(),
                handlers: handlers.clone(),
            };
            let decided = workflow::decide(&state, command, &self.context(actor()));
            let events_new = match decided {
                Ok(decision) => decision.into_events(),
                Err(refused) => {
                    let reason = refused.to_string();
                    return Ok(Registered::Refused { id, reason });
                }
            };
            if events_new.is_empty() {
                return Ok(Registered::Known { id, version });
            }
            let events_new = events_new.into_iter().map(Event::Workflow).collect();
            let put = self.put(&stream, version_of(&events), events_new, SYSTEM);
            match put.await {
                Ok(_) => return Ok(Registered::New { id, version }),
                Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(RegisterError::Contended)
    }

    /// Makes the seeded platforms known (O-05).
    pub async fn register_platforms(&self) -> Result<(), RegisterError> {
        for seed in platform::seeds() {
            match self.register_platform(seed, SYSTEM).await {
                // An operator has changed it; the seed is only a beginning.
                Ok(_) | Err(RegisterError::Platform(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Makes a platform known, or changes what may change of it (O-04). Answers the position, if anything changed.
    pub async fn register_platform(
        &self,
        command: platform::Command,
        by: &str,
    ) -> Result<Option<u64>, RegisterError> {
        let platform::Command::Register { platform_id, .. } = &command else {
            // Carrying changes nothing, and is not done by name.
            return Ok(None);
        };
        let stream = format!("platform:{platform_id}");
        for _ in 0..TRIES {
            let recorded = self.log.read_stream(&stream, 0, usize::MAX).await?;
            let state = recorded
                .iter()
                .filter_map(|r| match r.decode() {
                    Ok(Event::Platform(event)) => Some(event),
                    _ => None,
                })
                .fold(platform::State::default(), |s, e| platform::evolve(s, &e));
            let context = self.context(actor());
            let decided = platform::decide(&state, command.clone(), &context);
            let events = decided.map_err(RegisterError::Platform)?.into_events();
            if events.is_empty() {
                return Ok(None);
            }
            let events = events.into_iter().map(Event::Platform).collect();
            match self.put(&stream, version_of(&recorded), events, by).await {
                Ok(pos) => return Ok(Some(pos)),
                Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(RegisterError::Contended)
    }

    async fn put(
        &self,
        stream: &str,
        expected: u64,
        events: Vec<Event>,
        by: &str,
    ) -> Result<u64, AppendError> {
        let append = Append {
            stream: stream.to_owned(),
            expected: Expected::Version(expected),
            org_id: SYSTEM.to_owned(),
            meta: meta(by, None),
            events,
            open_job: None,
            closes: false,
        };
        self.appender.append(&[append]).await.map(|done| done.pos)
    }
}
