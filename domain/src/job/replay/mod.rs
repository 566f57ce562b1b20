//! Replay: the recorded history of a job, decided again by today's code.
//!
//! What came from outside is taken from the log: the creation, claims and wishes, what workers reported, what
//! entered a queue, that time had passed. What was decided from it is decided again, on the state that the recorded
//! events give, and compared with the record, event by event. The first difference ends it: from there on the job
//! would be another one. With another definition of the workflow in place of the pinned one, that is what would have
//! gone otherwise.
//!
//! What a history cannot show: reports that were refused, decisions that died with their owner before they were
//! committed, and outputs that broke the contract of their handler (the failure that was made of them is a fact).

mod asked;
mod entry;
mod moment;
mod steps;
mod stimulus;
mod verdict;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use entry::Entry;
pub use moment::CLOCKS_APART_MAX;
pub use verdict::{Difference, Divergence, Kind, Verdict};

use crate::definition::Graph;
use crate::definition::model::{Input, Workflow};
use crate::job::Policy;
use steps::Replay;

/// The rules that a history is replayed under.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The definition that the job has pinned. It says when the recorded decisions were made.
    pinned: Arc<Graph>,
    /// What is decided with.
    graph: Arc<Graph>,
    /// The inputs that another definition declares.
    inputs: Option<Arc<BTreeMap<String, Input>>>,
    /// Settings of the owner that are not in the log, as they are assumed. The grace of a claim is not among them:
    /// it is taken from the record.
    policy: Policy,
}

impl Rules {
    /// Those that the job had, as today's code reads them.
    #[must_use]
    pub fn pinned(graph: Arc<Graph>, policy: Policy) -> Self {
        Self {
            pinned: Arc::clone(&graph),
            graph,
            inputs: None,
            policy,
        }
    }

    /// Those of another definition, in place of the pinned one and under its name.
    #[must_use]
    pub fn with(pinned: Arc<Graph>, workflow: &Workflow, graph: &Graph, policy: Policy) -> Self {
        let mut graph = graph.clone();
        graph.workflow = pinned.workflow.clone();
        Self {
            pinned,
            graph: Arc::new(graph),
            inputs: Some(Arc::new(workflow.inputs.clone())),
            policy,
        }
    }
}

/// Replays the history of one job from its first event on. It is read no further than needed.
pub fn replay(rules: &Rules, history: impl Iterator<Item = Entry>) -> Verdict {
    Replay::new(rules, history).run()
}
