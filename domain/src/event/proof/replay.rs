//! A job is replayed from the file of its proof, without any database.

use std::sync::Arc;

use super::{History, Item};
use crate::definition::{Graph, WorkflowRef, model::Workflow};
use crate::event::{DecodeError, Event, decode};
use crate::handler::Catalog;
use crate::job;
use crate::job::Policy;
use crate::job::replay::{Entry, Rules, Verdict, replay};
use crate::workflow;

/// Why a history cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoReplay {
    #[error("event {version} cannot be read")]
    Decode { version: u64, source: DecodeError },
    #[error("the first event does not create a job")]
    Beginning,
    #[error("event {0} is not one of a job")]
    Foreign(u64),
    #[error("the file does not have the definition of workflow `{id}`, version {version}")]
    NoDefinition { id: String, version: u32 },
    #[error("the definition of workflow `{id}`, version {version}, cannot be compiled: {reason}")]
    Broken {
        id: String,
        version: u32,
        reason: String,
    },
    #[error("the job runs workflow `{found}`, and the other definition is one of `{wanted}`")]
    OtherWorkflow { found: String, wanted: String },
}

impl History {
    /// Replays the job, perhaps with another definition of its workflow.
    ///
    /// Times are held against each other only: a proof does not say when single events were committed.
    pub fn replay(
        &self,
        catalog: &Catalog,
        other: Option<(&Workflow, &Graph)>,
        policy: &Policy,
    ) -> Result<(WorkflowRef, Verdict), NoReplay> {
        let entries = self
            .events
            .iter()
            .map(entry)
            .collect::<Result<Vec<_>, _>>()?;
        let Some(job::Event::JobCreated(created)) = entries.first().map(|entry| &entry.event)
        else {
            return Err(NoReplay::Beginning);
        };
        let pinned = created.workflow.clone();
        let graph = Arc::new(self.graph(&pinned, catalog)?);
        let rules = match other {
            Some((workflow, _)) if workflow.workflow_id != pinned.id => {
                return Err(NoReplay::OtherWorkflow {
                    found: pinned.id,
                    wanted: workflow.workflow_id.clone(),
                });
            }
            Some((workflow, other)) => Rules::with(graph, workflow, other, policy.clone()),
            None => Rules::pinned(graph, policy.clone()),
        };
        Ok((pinned, replay(&rules, entries.into_iter())))
    }

    fn graph(&self, pinned: &WorkflowRef, catalog: &Catalog) -> Result<Graph, NoReplay> {
        let (id, version) = (pinned.id.clone(), pinned.version);
        let Some(item) = &self.definition else {
            return Err(NoReplay::NoDefinition { id, version });
        };
        let event = decode(&item.kind, item.schema_ver, item.payload.as_bytes());
        let event = event.map_err(|source| NoReplay::Decode { version: 0, source })?;
        let Event::Workflow(event) = event else {
            return Err(NoReplay::NoDefinition { id, version });
        };
        let known = workflow::evolve(workflow::State::default(), &event);
        let known = known.find(version).ok_or_else(|| NoReplay::NoDefinition {
            id: id.clone(),
            version,
        })?;
        let compiled = known.compiled(catalog);
        let (_, graph) = compiled.map_err(|reason| NoReplay::Broken {
            id,
            version,
            reason,
        })?;
        Ok(graph)
    }
}

fn entry(item: &Item) -> Result<Entry, NoReplay> {
    let version = item.version;
    match decode(&item.kind, item.schema_ver, item.payload.as_bytes()) {
        Ok(Event::Job(event)) => {
            let place = (item.pos, version);
            Ok(Entry::new(place, None, item.meta.as_bytes(), event))
        }
        Ok(_) => Err(NoReplay::Foreign(version)),
        Err(source) => Err(NoReplay::Decode { version, source }),
    }
}
