//! How a worker gets results that are too large to travel inline: page by page, by name (ADR 0007).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::JobId;
use crate::job::Event;

/// Asks any orchestrator for what a node of a job, or its children, returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultsQuery {
    pub job_id: JobId,
    pub node: String,
    /// Where the page before ended.
    #[serde(default)]
    pub after: u64,
}

/// Some of it, in the order in which it was reported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultsPage {
    pub results: Vec<NodeResult>,
    /// Where the next page begins; nothing if this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// What a node returned, or one child of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    pub output: Value,
}

/// Names the nodes whose results are not passed inline, in place of the list of results.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Manifest {
    pub children_of: Vec<Source>,
}

/// One node of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Source {
    pub job_id: JobId,
    pub node: String,
    /// How many children it has; nothing for a node without.
    pub count: Option<u32>,
    /// Children that older jobs ran.
    #[serde(default)]
    pub reused: Vec<Elsewhere>,
}

/// Children that another job ran.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Elsewhere {
    pub job_id: JobId,
    pub first: u32,
    pub last: u32,
}

/// The results of a node that an event tells of.
#[must_use]
pub fn results_in(event: &Event, name: &str) -> Vec<NodeResult> {
    let one = |index, output: &Value| NodeResult {
        index,
        output: output.clone(),
    };
    match event {
        Event::NodeCompleted(done) if *done.node.name == *name => {
            vec![one(done.node.child, &done.output)]
        }
        Event::NodePassed {
            node,
            output: Some(output),
        } if *node.name == *name => vec![one(None, output)],
        Event::OutputsReused { nodes, children } => {
            let of_nodes = nodes.iter().filter(|reused| *reused.node.name == *name);
            let of_nodes = of_nodes.map(|reused| one(None, &reused.output));
            let of_children = children.iter().filter(|reused| *reused.node.name == *name);
            let of_children = of_children.flat_map(|reused| {
                let indexes = reused
                    .ranges
                    .iter()
                    .flat_map(|range| range.first..=range.last);
                let outputs = reused.outputs.as_deref().unwrap_or_default();
                indexes
                    .zip(outputs)
                    .map(|(index, output)| one(Some(index), output))
            });
            of_nodes.chain(of_children).collect()
        }
        _ => Vec::new(),
    }
}
