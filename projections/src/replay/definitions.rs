//! The rules that jobs are replayed under: definitions out of the log, compiled once.

use std::collections::HashMap;
use std::sync::Arc;

use domain::definition::model::Workflow;
use domain::definition::{Graph, WorkflowRef};
use domain::event::Event;
use domain::event::proof::definition_stream;
use domain::handler::Catalog;
use domain::job::Policy;
use domain::job::replay::Rules;
use domain::workflow;
use sqlx::PgPool;
use tokio::sync::Mutex;

use crate::Error;
use crate::store::log;

/// Definitions that are kept; beyond that the cache starts anew.
const KEPT_MAX: usize = 512;
/// Versions of one workflow that are read at once.
const VERSIONS_PER_READ: i64 = 100;

/// A definition that is tried in place of the pinned ones.
#[derive(Debug, Clone)]
pub struct Other {
    pub workflow: Arc<Workflow>,
    pub graph: Arc<Graph>,
}

/// Rules of a job, or why there are none.
pub(super) type Found = Result<Arc<Rules>, String>;

pub(super) struct Definitions {
    pool: PgPool,
    catalog: Arc<Catalog>,
    other: Option<Other>,
    policy: Policy,
    kept: Mutex<HashMap<(String, u32, String), Found>>,
}

impl Definitions {
    pub(super) fn new(
        pool: PgPool,
        catalog: Arc<Catalog>,
        other: Option<Other>,
        policy: Policy,
    ) -> Self {
        Self {
            pool,
            catalog,
            other,
            policy,
            kept: Mutex::new(HashMap::new()),
        }
    }

    /// Whether what is tried is no definition of this workflow.
    pub(super) fn is_of_other(&self, pinned: &WorkflowRef) -> bool {
        let other = self.other.as_ref();
        other.is_some_and(|other| other.workflow.workflow_id != pinned.id)
    }

    /// The rules for jobs that have pinned this definition.
    pub(super) async fn rules(&self, pinned: &WorkflowRef) -> Result<Found, Error> {
        let key = (pinned.id.clone(), pinned.version, pinned.hash.clone());
        // Held while it is read: what many jobs ask for at once is compiled once.
        let mut kept = self.kept.lock().await;
        if let Some(found) = kept.get(&key) {
            return Ok(found.clone());
        }
        let found = self.read(pinned).await?.map(|graph| {
            let policy = self.policy.clone();
            Arc::new(match &self.other {
                Some(other) => Rules::with(graph, &other.workflow, &other.graph, policy),
                None => Rules::pinned(graph, policy),
            })
        });
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(key, found.clone());
        Ok(found)
    }

    async fn read(&self, pinned: &WorkflowRef) -> Result<Result<Arc<Graph>, String>, Error> {
        let stream = definition_stream(&pinned.id);
        let mut state = workflow::State::default();
        let mut version = 0;
        while state.find(pinned.version).is_none() {
            let page = log::of_stream(&self.pool, &stream, version, i64::MAX, VERSIONS_PER_READ);
            let page = page.await?;
            let Some(last) = page.last() else { break };
            version = last.version;
            for entry in &page {
                if let Event::Workflow(event) = entry.decode()? {
                    state = workflow::evolve(state, &event);
                }
            }
        }
        let name = format!("workflow `{}`, version {}", pinned.id, pinned.version);
        let found = state.find(pinned.version);
        let Some(found) = found.filter(|found| found.hash == pinned.hash) else {
            return Ok(Err(format!(
                "the log does not have {name}, as the job pinned it"
            )));
        };
        let compiled = found.compiled(&self.catalog);
        Ok(compiled
            .map(|(_, graph)| Arc::new(graph))
            .map_err(|reason| format!("{name} cannot be compiled: {reason}")))
    }
}
