//! What is known of a workflow definition.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::definition::model::Workflow;
use crate::definition::{Graph, compile, load_registered};
use crate::handler::{Catalog, Pins};

/// All versions of one workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub(super) versions: BTreeMap<u32, Version>,
}

/// One registered version, which never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub number: u32,
    pub hash: String,
    pub source: String,
    /// What the file leaves to its handlers.
    pub handlers: Pins,
    pub registered_at: DateTime<Utc>,
}

impl Version {
    /// The definition, ready to run; or why it cannot be. What the file leaves to its handlers is as it was when it
    /// was registered.
    pub fn compiled(&self, catalog: &Catalog) -> Result<(Workflow, Graph), String> {
        let workflow = load_registered(self.source.as_bytes()).map_err(|problems| {
            let first = problems.first().map(|problem| problem.message.clone());
            first.unwrap_or_default()
        })?;
        let graph = compile(&workflow, &self.hash, &catalog.pinned(&self.handlers));
        Ok((workflow, graph.map_err(|error| error.to_string())?))
    }
}

impl State {
    /// All versions, lowest first.
    pub fn versions(&self) -> impl Iterator<Item = &Version> {
        self.versions.values()
    }

    /// The version that a job gets when it names none: the highest.
    #[must_use]
    pub fn latest(&self) -> Option<&Version> {
        self.versions.values().next_back()
    }

    /// The version with this number.
    #[must_use]
    pub fn find(&self, version: u32) -> Option<&Version> {
        self.versions.get(&version)
    }

    /// The highest version with this content.
    #[must_use]
    pub fn find_by_hash(&self, hash: &str) -> Option<&Version> {
        self.versions.values().rfind(|known| known.hash == hash)
    }
}
