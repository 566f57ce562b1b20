//! What a retry or a fork takes over of an older job, and what it runs.

use async_graphql::{Enum, SimpleObject};
use domain::job::{Cause as C, Children, Fate as F, NodeFate, Plan};

/// Nodes of one answer.
const NODES_MAX: usize = 1_000;
/// Ranges of children of one fan-out.
const RANGES_MAX: usize = 100;

/// What becomes of the nodes of an older job in the new one.
#[derive(Debug, SimpleObject)]
pub(super) struct ReusePlan {
    /// Tasks and children of fan-outs whose outputs are taken over.
    reused: usize,
    /// Nodes that run, wholly or in part, or that may.
    runs: usize,
    /// Inputs that have another value than in the older job.
    changed_inputs: Vec<String>,
    /// Tasks and fan-outs in topological order, with conditionals and joins that are looked at anew; the first
    /// thousand if there are more.
    nodes: Vec<PlannedNode>,
    /// So many nodes are not in the list.
    more: usize,
}

/// What becomes of one node.
#[derive(Debug, SimpleObject)]
pub(super) struct PlannedNode {
    node: String,
    kind: &'static str,
    fate: Fate,
    /// Why it is not taken over.
    cause: Option<Cause>,
    /// The same in words, with the names that it is about.
    because: Option<String>,
    /// Of a fan-out that had been expanded: how many children it had.
    children: Option<u32>,
    /// Children that are taken over: the first hundred ranges.
    reused_children: Vec<ChildRange>,
}

/// Neighbouring children of a fan-out, and the job that ran them.
#[derive(Debug, SimpleObject)]
pub(super) struct ChildRange {
    first: u32,
    /// Inclusive.
    last: u32,
    job_id: String,
}

/// What becomes of a node in the new job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(super) enum Fate {
    /// Its output is taken over.
    Reused,
    /// Of a fan-out: some of its children run.
    PartlyReused,
    /// It runs, if what leads to it does.
    Runs,
    /// It was skipped, and is skipped again.
    StaysSkipped,
    /// It was skipped; whether it runs now is decided anew.
    Open,
}

/// Why a node is not taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(super) enum Cause {
    /// The fork starts again here.
    ForkPoint,
    /// It reads an input that has another value.
    InputChanged,
    /// A node before it runs again.
    Behind,
    NotCompleted,
    ChildrenMissing,
    /// Its output is too large to be taken over.
    TooLarge,
}

impl From<Plan> for ReusePlan {
    fn from(plan: Plan) -> Self {
        let runs = plan.fates.iter().filter(|f| f.fate.cause().is_some());
        Self {
            reused: plan.reused(),
            runs: runs.count(),
            more: plan.fates.len().saturating_sub(NODES_MAX),
            changed_inputs: plan.changed_inputs.into_iter().collect(),
            nodes: plan
                .fates
                .into_iter()
                .take(NODES_MAX)
                .map(planned)
                .collect(),
        }
    }
}

fn planned(fate: NodeFate) -> PlannedNode {
    let cause = fate.fate.cause();
    PlannedNode {
        kind: fate.kind,
        cause: cause.map(Cause::of),
        because: cause.map(ToString::to_string),
        children: fate.children.as_ref().map(|children| children.total),
        reused_children: fate.children.iter().flat_map(ranges).collect(),
        fate: Fate::of(&fate.fate),
        node: fate.node.to_string(),
    }
}

fn ranges(children: &Children) -> impl Iterator<Item = ChildRange> {
    let ranges = children.reused.iter().take(RANGES_MAX);
    ranges.map(|range| ChildRange {
        first: range.first,
        last: range.last,
        job_id: range.job_id.to_string(),
    })
}

impl Fate {
    fn of(fate: &F) -> Self {
        match fate {
            F::Reused => Self::Reused,
            F::PartlyReused(_) => Self::PartlyReused,
            F::Runs(_) => Self::Runs,
            F::StaysSkipped => Self::StaysSkipped,
            F::Open(_) => Self::Open,
        }
    }
}

impl Cause {
    fn of(cause: &C) -> Self {
        match cause {
            C::ForkPoint => Self::ForkPoint,
            C::InputChanged { .. } => Self::InputChanged,
            C::Behind { .. } => Self::Behind,
            C::NotCompleted { .. } => Self::NotCompleted,
            C::ChildrenMissing { .. } => Self::ChildrenMissing,
            C::TooLarge { .. } => Self::TooLarge,
        }
    }
}
