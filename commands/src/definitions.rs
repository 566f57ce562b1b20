//! Workflow definitions out of the log, compiled once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::definition::Graph;
use domain::definition::model::Workflow;
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
    /// What was folded of the streams of workflows, and up to which version.
    folded: Mutex<BTreeMap<String, (u64, Arc<workflow::State>)>>,
}

impl Definitions {
    /// An empty cache over the log.
    #[must_use]
    pub fn new(log: Arc<dyn Log>) -> Self {
        Self {
            log,
            catalog: Catalog::shipped(),
            kept: Mutex::new(BTreeMap::new()),
            folded: Mutex::new(BTreeMap::new()),
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
        keep(
            &self.kept,
            (id.to_owned(), found.number),
            definition.clone(),
        );
        Ok(definition)
    }

    fn kept(&self, id: &str, version: u32) -> Option<Definition> {
        locked(&self.kept).get(&(id.to_owned(), version)).cloned()
    }

    /// All versions of one workflow. Only what is new since the last time is read.
    pub async fn state(&self, id: &str) -> Result<Arc<workflow::State>, LogError> {
        let known = locked(&self.folded).get(id).cloned();
        let (mut version, folded) = known.unwrap_or_default();
        let stream = format!("workflow:{id}");
        let news = self.log.read_stream(&stream, version, usize::MAX).await?;
        if news.is_empty() {
            return Ok(folded);
        }
        let mut state = workflow::State::clone(&folded);
        for recorded in news {
            version = recorded.version;
            let event = recorded
                .decode()
                .map_err(|error| LogError::Decode(error.to_string()))?;
            if let Event::Workflow(event) = event {
                state = workflow::evolve(state, &event);
            }
        }
        let state = Arc::new(state);
        keep(&self.folded, id.to_owned(), (version, Arc::clone(&state)));
        Ok(state)
    }

    fn compile(&self, id: &str, version: &workflow::Version) -> Result<Definition, NoDefinition> {
        let compiled = version.compiled(&self.catalog);
        let (workflow, graph) = compiled.map_err(|reason| NoDefinition::Broken {
            id: id.to_owned(),
            version: version.number,
            reason,
        })?;
        Ok(Definition {
            workflow: Arc::new(workflow),
            graph: Arc::new(graph),
        })
    }
}

fn locked<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep<K: Ord, V>(kept: &Mutex<BTreeMap<K, V>>, key: K, value: V) {
    let mut kept = locked(kept);
    if kept.len() >= KEPT_MAX {
        kept.clear();
    }
    kept.insert(key, value);
}
