//! Retry and fork: a new job that takes over what an older one has finished.
//!
//! Terminal is terminal, so trying a job again makes a new one. What it may take over is every task
//! that is completed and that no re-run task comes before.

use serde_json::Map;

use super::event::{ReusedChildren, ReusedNode, ReusedRange};
use super::group::Group;
use super::state::State;
use super::status::{JobStatus, NodeStatus};
use crate::definition::NodeIx;
use crate::definition::graph::Kind;
use crate::id::NodeId;
use crate::json::size_bytes;

/// Outputs that one new job takes over, at most; what is beyond is run again.
const REUSED_BYTES_MAX: usize = 512 * 1024;

/// What a new job would take over, and what it would run again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    pub nodes: Vec<ReusedNode>,
    pub children: Vec<ReusedChildren>,
    /// Tasks and fan-outs that run, wholly or in part.
    pub rerun: Vec<NodeId>,
}

/// Why there is nothing to retry or fork.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoPlan {
    #[error("only a job that has FAILED or was CANCELLED can be retried; this one is {}", .0.word())]
    NotFailed(JobStatus),
    #[error("the job has no node `{0}` to start again from")]
    UnknownNode(String),
    #[error("the job does not exist")]
    NoJob,
}

/// Runs again what is not completed.
pub fn plan_retry(state: &State) -> Result<Plan, NoPlan> {
    match state.status {
        JobStatus::Failed | JobStatus::Cancelled => Ok(plan(state, &[])),
        status => Err(NoPlan::NotFailed(status)),
    }
}

/// Runs again these nodes and everything behind them, and what is not completed.
pub fn plan_fork(state: &State, from: &[&str]) -> Result<Plan, NoPlan> {
    if state.created.is_none() {
        return Err(NoPlan::NoJob);
    }
    let find = |name: &&str| {
        state
            .graph
            .find(name)
            .ok_or_else(|| NoPlan::UnknownNode((*name).to_owned()))
    };
    let from = from.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    Ok(plan(state, &from))
}

fn plan(state: &State, from: &[NodeIx]) -> Plan {
    let mut plan = Plan::default();
    let mut dirty = vec![false; state.nodes.len()];
    let mut bytes = 0;
    // Nodes stand in topological order, so predecessors have been judged before.
    for (ix, node) in state.graph.nodes.iter().enumerate() {
        let after_dirty = node
            .incoming
            .iter()
            .any(|i| dirty.get(*i).copied().unwrap_or(true));
        let blocked = after_dirty || from.contains(&ix);
        let clean = match (&node.kind, state.groups.get(&ix)) {
            (Kind::FanOut(_), Some(group)) if !blocked => {
                reuse_children(&mut plan, state, ix, group, &mut bytes)
            }
            (kind, _) if kind.is_task() => !blocked && reuse_node(&mut plan, state, ix, &mut bytes),
            (Kind::FanOut(_), _) => false,
            // The engine does these again; the same outputs lead the same way.
            _ => !blocked,
        };
        let skipped = state.nodes.get(ix).is_some_and(|n| n.skipped.is_some());
        if !clean && (node.kind.is_task() || matches!(node.kind, Kind::FanOut(_))) && !skipped {
            plan.rerun.push(NodeId::of(&node.name));
        }
        if let Some(flag) = dirty.get_mut(ix) {
            *flag = !clean && (blocked || !skipped);
        }
    }
    plan
}

fn reuse_node(plan: &mut Plan, state: &State, ix: NodeIx, bytes: &mut usize) -> bool {
    let Some(node) = state.nodes.get(ix) else {
        return false;
    };
    let Some(output) = &node.output else {
        return false;
    };
    let size = size_bytes(output);
    if node.work.status != NodeStatus::Completed || *bytes + size > REUSED_BYTES_MAX {
        return false;
    }
    *bytes += size;
    plan.nodes.push(ReusedNode {
        node: state.id(super::state::Slot::node(ix)),
        output: output.clone(),
        external: node.external.clone(),
    });
    true
}

/// Takes over the completed children; says whether all of them are.
fn reuse_children(
    plan: &mut Plan,
    state: &State,
    ix: NodeIx,
    group: &Group,
    bytes: &mut usize,
) -> bool {
    if group.count() == 0 {
        return true;
    }
    let mut ranges: Vec<ReusedRange> = Vec::new();
    let mut outputs = Some(Vec::new());
    for (index, _) in group
        .children()
        .filter(|(_, w)| w.status == NodeStatus::Completed)
    {
        let by = group
            .reused
            .iter()
            .find(|r| (r.first..=r.last).contains(&index));
        let job_id = by.map_or_else(|| state.job_id(), |range| range.job_id);
        match ranges.last_mut() {
            Some(range) if range.last + 1 == index && range.job_id == job_id => range.last = index,
            _ => ranges.push(ReusedRange {
                first: index,
                last: index,
                job_id,
            }),
        }
        outputs = outputs.and_then(|mut all: Vec<_>| {
            all.push(group.results.get(index)?.clone());
            Some(all)
        });
    }
    let (sums, ends) = group.results.hand_over();
    let handoffs = group
        .handoffs
        .iter()
        .map(|(index, value)| (*index, value.clone()))
        .collect();
    let reused = ReusedChildren {
        node: state.id(super::state::Slot::node(ix)),
        items_hash: group.items.hash(),
        handoffs: if outputs.is_none() {
            handoffs
        } else {
            Vec::new()
        },
        sums: if outputs.is_none() { sums } else { Map::new() },
        ends: if outputs.is_none() { ends } else { Vec::new() },
        ranges,
        outputs,
    };
    let size = size_bytes(&reused);
    if reused.ranges.is_empty() || *bytes + size > REUSED_BYTES_MAX {
        return false;
    }
    *bytes += size;
    plan.children.push(reused);
    group.remaining == 0
}
