//! Compiled workflows by the hash of their content. A cache: it can be thrown away at any time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::definition::{Graph, compile, graph, load_registered};
use domain::handler::{Catalog, Pins};
use sqlx::PgConnection;

use crate::store::sources::{self, Set};

/// Workflows that are kept compiled, at most.
const KEPT_MAX: usize = 512;

/// A workflow with the stage of each of its nodes.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) graph: Arc<Graph>,
    /// How many steps of work lead to each node, itself included.
    pub(crate) stages: Vec<i32>,
}

/// The cache.
#[derive(Debug)]
pub(crate) struct Graphs {
    catalog: Arc<Catalog>,
    /// Where sources that are not here are looked for.
    set: Set,
    compiled: HashMap<String, Result<Arc<Compiled>, String>>,
}

impl Graphs {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            set: Set::Live,
            compiled: HashMap::new(),
        }
    }

    /// For the tables that are being rebuilt.
    pub(crate) fn of_next(catalog: Arc<Catalog>) -> Self {
        Self {
            set: Set::Next,
            ..Self::new(catalog)
        }
    }

    /// A workflow that [`Graphs::add`] or [`Graphs::fetch`] has seen, or why it cannot be used.
    pub(crate) fn get(&self, hash: &str) -> Result<Arc<Compiled>, String> {
        let missing = || Err("it was never registered".to_owned());
        self.compiled.get(hash).cloned().unwrap_or_else(missing)
    }

    /// Makes room. Only between batches: a batch counts on what it has asked for.
    pub(crate) fn trim(&mut self) {
        if self.compiled.len() > KEPT_MAX {
            self.compiled.clear();
        }
    }

    /// Takes the source of a workflow in.
    pub(crate) fn add(&mut self, hash: &str, source: &str, pins: &Pins) {
        if self.compiled.contains_key(hash) {
            return;
        }
        let catalog = self.catalog.pinned(pins);
        let compiled = read(source, hash, &catalog).map(Arc::new);
        self.compiled.insert(hash.to_owned(), compiled);
    }

    /// Fetches those of the workflows that are not here.
    pub(crate) async fn fetch(
        &mut self,
        db: &mut PgConnection,
        hashes: &HashSet<&str>,
    ) -> sqlx::Result<()> {
        let is_missing = |hash: &&&str| !self.compiled.contains_key(**hash);
        let missing: Vec<String> = hashes
            .iter()
            .filter(is_missing)
            .map(|hash| (*hash).to_owned())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        for (hash, source, pins) in sources::sources(db, self.set, &missing).await? {
            // Our own writing; were it unreadable, today's declarations would be the best guess.
            let pins = serde_json::from_value(pins).unwrap_or_default();
            self.add(&hash, &source, &pins);
        }
        Ok(())
    }
}

fn read(source: &str, hash: &str, catalog: &Catalog) -> Result<Compiled, String> {
    let workflow = load_registered(source.as_bytes()).map_err(|problems| {
        let first = problems.first().map(|problem| problem.message.clone());
        first.unwrap_or_default()
    })?;
    let graph = compile(&workflow, hash, catalog).map_err(|error| error.to_string())?;
    let stages = stages(&graph);
    Ok(Compiled {
        graph: Arc::new(graph),
        stages,
    })
}

/// Nodes stand in topological order, so one pass is enough.
fn stages(graph: &Graph) -> Vec<i32> {
    let mut stages: Vec<i32> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let before = node.incoming.iter().filter_map(|ix| stages.get(*ix)).max();
        let works = node.kind.is_task() || matches!(node.kind, graph::Kind::FanOut(_));
        stages.push(before.copied().unwrap_or(0) + i32::from(works));
    }
    stages
}
