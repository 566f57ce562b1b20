//! What a file of the right shape means, and whether it makes sense.

mod circles;
mod expressions;
mod graph;
mod handlers;
mod inputs;
mod nodes;
mod order;
mod outputs;
mod references;
mod targets;

use super::model::Workflow;
use super::report::Report;
use crate::handler::Catalog;

pub(super) use nodes::node_name;

/// Most nodes of a workflow.
pub(super) const NODES_MAX: usize = 5_000;

/// Reports everything that is wrong with the meaning of a workflow.
pub(super) fn validate(report: &mut Report<'_>, workflow: &Workflow, catalog: &Catalog) {
    inputs::check(report, &workflow.inputs);
    let Some(nodes) = &workflow.nodes else { return };
    if !nodes::names(report, nodes) {
        return;
    }
    let graph = graph::Graph::new(report, nodes);
    graph.check(report);
    nodes::check(report, nodes);
    handlers::check(report, nodes, catalog);
    expressions::check(report, workflow, &graph, catalog);
}
