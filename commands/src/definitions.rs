//! Workflow definitions out of the log, compiled once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::definition::model::Workflow;
use domain::definition::{self, Graph};
use domain::event::Event;
use domain::handler::Catalog;
use domain::workflow;

use crate::log::{Log, LogError};

/// Compiled definitions that are kept; beyond that the cache starts anew.
const KEPT_MAX: usize = 1_000;

/// A registered version, ready to run.
#[derive(Debug, Clone)]
pub struct Definition {
    pub workflow: Arc<Workflow>,
    pub graph: Arc<Graph>,
}

/// Why a definition cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoDefinition {
    #[error("no workflow is called `{0}`")]
    UnknownWorkflow(String),
    #[error("workflow `{id}` has no version {version}")]
    UnknownVersion { id: String, version: u32 },
    #[error("workflow `{id}` version {version} cannot be compiled: {reason}")]
    Broken {
        id: String,
        version: u32,
        reason: String,
    },
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Looks definitions up by id and version. A registered version never changes, so it may be kept.
pub struct Definitions {
    log: Arc<dyn Log>,
    catalog: Catalog,
    kept: Mutex<BTreeMap<(String, u32), Definition>>,
}

impl Definitions {
    /// An empty cache over the log.
    #[must_use]
    pub fn new(log: Arc<dyn Log>) -> Self {
        Self {
            log,
            catalog: Catalog::shipped(),
            kept: Mutex::new(BTreeMap::new()),
        }
    }

    /// The handlers that definitions are compiled against.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// A version, or the latest one.
    pub async fn find(&self, id: &str, version: Option<u32>) -> Result<Definition, NoDefinition> {
        if let Some(definition) = version.and_then(|version| self.kept(id, version)) {
            return Ok(definition);
        }
        let state = self.state(id).await?;
        let found = match version {
            Some(version) => state.find(version),
            None => state.latest(),
        };
        let found = found.ok_or_else(|| match (state.latest(), version) {
            (Some(_), Some(version)) => NoDefinition::UnknownVersion {
                id: id.to_owned(),
                version,
            },
            _ => NoDefinition::UnknownWorkflow(id.chars().take(80).collect()),
        })?;
        // Which version is the latest is looked up each time, but compiled once.
        if let Some(definition) = self.kept(id, found.number) {
            return Ok(definition);
        }
        let definition = self.compile(id, found)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert((id.to_owned(), found.number), definition.clone());
        Ok(definition)
    }

    fn kept(&self, id: &str, version: u32) -> Option<Definition> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(id.to_owned(), version)).cloned()
    }

    /// All versions of one workflow.
    pub async fn state(&self, id: &str) -> Result<workflow::State, LogError> {
        let mut state = workflow::State::default();
        let stream = format!("workflow:{id}");
        let events = self.log.read_stream(&stream, 0, usize::MAX).await?;
        for recorded in events {
            let event = recorded
                .decode()
                .map_err(|error| LogError::Decode(error.to_string()))?;
            if let Event::Workflow(event) = event {
                state = workflow::evolve(state, &event);
            }
        }
        Ok(state)
    }

    fn compile(&self, id: &str, version: &workflow::Version) -> Result<Definition, NoDefinition> {
        let broken = |reason: String| NoDefinition::Broken {
            id: id.to_owned(),
            version: version.number,
            reason,
        };
        let workflow = definition::load_registered(version.source.as_bytes());
        let workflow = workflow.map_err(|all| {
            let first = all.first().map(|first| first.message.clone());
            broken(first.unwrap_or_default())
        })?;
        let catalog = self.catalog.pinned(&version.handlers);
        let graph = definition::compile(&workflow, &version.hash, &catalog)
            .map_err(|error| broken(error.to_string()))?;
        Ok(Definition {
            workflow: Arc::new(workflow),
            graph: Arc::new(graph),
        })
    }
}
