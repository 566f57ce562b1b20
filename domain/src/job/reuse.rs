//! Retry and fork: a new job that takes over what an older one has finished.
//!
//! Terminal is terminal, so trying a job again makes a new one. What it may take over is every task
//! that is completed, that was made with the same inputs, and that no re-run task comes before (ADR 0026).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::event::{ReusedChildren, ReusedNode, ReusedRange};
use super::fate::{Cause, Children, Fate, NodeFate};
use super::group::Group;
use super::state::{NodeState, Slot, State};
use super::status::{JobStatus, NodeStatus};
use crate::definition::NodeIx;
use crate::definition::graph::{Kind, Node};
use crate::id::NodeId;
use crate::json::size_bytes;
use crate::suggest::did_you_mean;

/// Outputs that one new job takes over, at most; what is beyond is run again.
pub const REUSED_BYTES_MAX: usize = 512 * 1024;

/// Nodes that one fork names, at most; everything behind a node runs again anyway.
pub const FORK_POINTS_MAX: usize = 100;

/// Longest name that an error repeats.
const NAMED_CHARS: usize = 80;

/// What a new job would take over, and what it would run again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    pub nodes: Vec<ReusedNode>,
    pub children: Vec<ReusedChildren>,
    /// What becomes of every task and fan-out, in topological order; of conditionals and joins only if
    /// they are looked at anew.
    pub fates: Vec<NodeFate>,
    /// The inputs that have another value than in the older job.
    pub changed_inputs: BTreeSet<String>,
}

impl Plan {
    /// Tasks and children of fan-outs whose outputs are taken over.
    #[must_use]
    pub fn reused(&self) -> usize {
        let ranges = self.children.iter().flat_map(|c| &c.ranges);
        let children: u32 = ranges.map(|range| range.last - range.first + 1).sum();
        self.nodes.len() + children as usize
    }

    /// Tasks and fan-outs that run, wholly or in part.
    pub fn reruns(&self) -> impl Iterator<Item = &NodeId> {
        let runs = |f: &&NodeFate| matches!(f.fate, Fate::Runs(_) | Fate::PartlyReused(_));
        self.fates.iter().filter(runs).map(|fate| &fate.node)
    }
}

/// Why there is nothing to retry or fork.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoPlan {
    #[error("only a job that has FAILED or was CANCELLED can be retried; this one is {}", .0.word())]
    NotFailed(JobStatus),
    #[error(
        "only a job that has ended can be forked; this one is {}: wait for it, or cancel it",
        .0.word()
    )]
    NotEnded(JobStatus),
    #[error("the job has no node `{name}` to start again from{hint}")]
    UnknownNode { name: String, hint: String },
    #[error("a fork starts again from at most {FORK_POINTS_MAX} nodes, not {0}")]
    TooManyPoints(usize),
    #[error("nothing would run: name a node to start again from, or give an input another value")]
    NothingChanged,
    #[error("the job does not exist")]
    NoJob,
}

/// Runs again what is not completed.
pub fn plan_retry(state: &State) -> Result<Plan, NoPlan> {
    match state.status {
        JobStatus::Failed | JobStatus::Cancelled => {
            Ok(plan(state, &BTreeSet::new(), BTreeSet::new()))
        }
        status => Err(NoPlan::NotFailed(status)),
    }
}

/// Runs again these nodes, whatever reads an input that has another value now, everything behind
/// either, and what is not completed.
///
/// The inputs are those of the new job, completed by defaults. Only of an ended job: what another one
/// has finished changes from moment to moment, and what it has not would run twice.
pub fn plan_fork(
    state: &State,
    at: &[String],
    inputs: &Map<String, Value>,
) -> Result<Plan, NoPlan> {
    let created = state.created.as_ref().ok_or(NoPlan::NoJob)?;
    if !state.status.is_terminal() {
        return Err(NoPlan::NotEnded(state.status));
    }
    if at.len() > FORK_POINTS_MAX {
        return Err(NoPlan::TooManyPoints(at.len()));
    }
    let points = at.iter().map(|name| point(state, name));
    let points = points.collect::<Result<BTreeSet<_>, _>>()?;
    let names = created.inputs.keys().chain(inputs.keys());
    let changed: BTreeSet<String> = names
        .filter(|name| created.inputs.get(*name) != inputs.get(*name))
        .cloned()
        .collect();
    if points.is_empty() && changed.is_empty() {
        return Err(NoPlan::NothingChanged);
    }
    Ok(plan(state, &points, changed))
}

fn point(state: &State, name: &str) -> Result<NodeIx, NoPlan> {
    state.graph.find(name).ok_or_else(|| {
        let id = NodeId::from(name);
        let hint = match state.graph.find(&id.name) {
            Some(_) if id.child.is_some() => {
                format!("; it is a child: name its fan-out `{}`", id.name)
            }
            _ => {
                let names = state.graph.nodes.iter().map(|node| &*node.name);
                did_you_mean(name, names).map_or_else(String::new, |hint| format!("; {hint}"))
            }
        };
        let name = name.chars().take(NAMED_CHARS).collect();
        NoPlan::UnknownNode { name, hint }
    })
}

fn plan(state: &State, points: &BTreeSet<NodeIx>, changed: BTreeSet<String>) -> Plan {
    let mut plan = Plan::default();
    let mut dirty = vec![false; state.nodes.len()];
    let mut bytes = 0;
    // Nodes stand in topological order, so predecessors have been judged before.
    for (ix, node) in state.graph.nodes.iter().enumerate() {
        let cause = if points.contains(&ix) {
            Some(Cause::ForkPoint)
        } else {
            changed_for(node, &changed).or_else(|| behind(state, node, &dirty))
        };
        let was_skipped = state.nodes.get(ix).is_some_and(|n| n.skipped.is_some());
        let is_work = node.kind.is_task() || matches!(node.kind, Kind::FanOut(_));
        let fate = match cause {
            Some(cause) if was_skipped => Fate::Open(cause),
            Some(cause) => Fate::Runs(cause),
            None if was_skipped => Fate::StaysSkipped,
            None if is_work => take_over(&mut plan, state, ix, &mut bytes),
            // The engine does these again; the same outputs lead the same way.
            None => continue,
        };
        let is_dirty = !matches!(fate, Fate::Reused | Fate::StaysSkipped);
        if let Some(flag) = dirty.get_mut(ix) {
            *flag = is_dirty;
        }
        let is_border = matches!(node.kind, Kind::Start | Kind::End);
        if is_work || (is_dirty && !is_border) {
            plan.fates.push(NodeFate {
                node: state.id(Slot::node(ix)),
                kind: node.kind.word(),
                children: children(&plan, state, ix),
                fate,
            });
        }
    }
    plan.changed_inputs = changed;
    plan
}

fn changed_for(node: &Node, changed: &BTreeSet<String>) -> Option<Cause> {
    if changed.is_empty() {
        return None;
    }
    let inputs = node.inputs_read(changed);
    (!inputs.is_empty()).then_some(Cause::InputChanged { inputs })
}

fn behind(state: &State, node: &Node, dirty: &[bool]) -> Option<Cause> {
    let is_dirty = |ix: &&NodeIx| dirty.get(**ix).copied().unwrap_or(true);
    let before = node.incoming.iter().find(is_dirty)?;
    let node = state.id(Slot::node(*before));
    Some(Cause::Behind { node })
}

/// How many children a fan-out had, and which of them the plan takes over.
fn children(plan: &Plan, state: &State, ix: NodeIx) -> Option<Children> {
    let group = state.groups.get(&ix)?;
    let node = state.id(Slot::node(ix));
    // It was judged just now.
    let taken = plan.children.last().filter(|taken| taken.node == node);
    Some(Children {
        total: group.count(),
        reused: taken.map(|c| c.ranges.clone()).unwrap_or_default(),
    })
}

/// Takes over as much of a task or a fan-out as there is.
fn take_over(plan: &mut Plan, state: &State, ix: NodeIx, bytes: &mut usize) -> Fate {
    match state.groups.get(&ix) {
        Some(group) => reuse_children(plan, state, ix, group, bytes),
        None => reuse_node(plan, state, ix, bytes),
    }
}

fn not_completed(state: &State, ix: NodeIx) -> Fate {
    let status = state.nodes.get(ix).map(|n| n.work.status);
    let status = status.unwrap_or(NodeStatus::Pending);
    Fate::Runs(Cause::NotCompleted { status })
}

/// Takes `size_bytes` out of what is left, or says that it is too much.
fn spend(bytes: &mut usize, size_bytes: usize) -> Result<(), Cause> {
    if *bytes + size_bytes > REUSED_BYTES_MAX {
        let before_bytes = *bytes;
        return Err(Cause::TooLarge {
            size_bytes,
            before_bytes,
        });
    }
    *bytes += size_bytes;
    Ok(())
}

fn reuse_node(plan: &mut Plan, state: &State, ix: NodeIx, bytes: &mut usize) -> Fate {
    let completed = |n: &&NodeState| n.work.status == NodeStatus::Completed;
    let node = state.nodes.get(ix).filter(completed);
    let Some((node, output)) = node.and_then(|n| Some((n, n.output.as_ref()?))) else {
        return not_completed(state, ix);
    };
    if let Err(cause) = spend(bytes, size_bytes(output)) {
        return Fate::Runs(cause);
    }
    plan.nodes.push(ReusedNode {
        node: state.id(Slot::node(ix)),
        output: output.clone(),
        external: node.external.clone(),
    });
    Fate::Reused
}

/// Takes over the completed children.
fn reuse_children(
    plan: &mut Plan,
    state: &State,
    ix: NodeIx,
    group: &Group,
    bytes: &mut usize,
) -> Fate {
    if group.count() == 0 {
        return Fate::Reused;
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
        node: state.id(Slot::node(ix)),
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
    if reused.ranges.is_empty() {
        return not_completed(state, ix);
    }
    if let Err(cause) = spend(bytes, size_bytes(&reused)) {
        return Fate::Runs(cause);
    }
    plan.children.push(reused);
    match group.remaining {
        0 => Fate::Reused,
        missing => Fate::PartlyReused(Cause::ChildrenMissing { missing }),
    }
}
