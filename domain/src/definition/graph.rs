//! The compiled workflow: what a job needs to know to run, with every name resolved.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::model::{Aggregation, OnEmpty, Retry};
use crate::expr::{Condition, Expr, Template};
use crate::handler::{Catalog, Handler, Pinned, Pins};
use crate::priority::Priority;

/// Place of a node in [`Graph::nodes`].
pub type NodeIx = usize;

/// Which definition a job runs: pinned by its first event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowRef {
    pub id: String,
    pub version: u32,
    /// SHA-256 of the definition's canonical form.
    pub hash: String,
}

/// A workflow ready to run. Nodes stand in topological order.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    pub workflow: WorkflowRef,
    pub priority: Priority,
    pub nodes: Vec<Node>,
    /// Template of the job's result, if the workflow gives one.
    pub result: Option<Template>,
    pub(super) by_name: BTreeMap<Arc<str>, NodeIx>,
}

/// One node with its edges.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub name: Arc<str>,
    pub kind: Kind,
    /// Nodes it waits for, in the order of the file.
    pub incoming: Vec<NodeIx>,
    /// Nodes that wait for it.
    pub outgoing: Vec<NodeIx>,
    /// Those of `incoming` of which one is enough, sorted; all others must be done.
    pub any_of: Vec<NodeIx>,
    /// Checked when the node could run.
    pub when: Option<Expr>,
}

/// What a node does.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Start,
    End,
    Task(TaskSpec),
    Conditional(ConditionalSpec),
    FanOut(FanOutSpec),
    FanIn(FanInSpec),
}

/// Work for a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSpec {
    /// Canonical name of the handler.
    pub handler: Arc<str>,
    pub queue: Arc<str>,
    pub priority: Option<Priority>,
    pub params: Template,
    pub timeout_seconds: u32,
    pub dispatch_timeout_seconds: u32,
    pub retry: Option<Retry>,
    /// Start and end may come in one report.
    pub idempotent: bool,
    /// This version of Strata knows the handler.
    pub is_known: bool,
}

/// The ways out of a conditional.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionalSpec {
    pub field: Option<Template>,
    pub branches: Vec<BranchSpec>,
}

/// One way out.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSpec {
    pub test: BranchTest,
    pub next: Vec<NodeIx>,
}

/// When a branch is taken.
#[derive(Debug, Clone, PartialEq)]
pub enum BranchTest {
    Field(Condition),
    When(Expr),
    Default,
}

/// One task per item.
#[derive(Debug, Clone, PartialEq)]
pub struct FanOutSpec {
    pub source: Template,
    pub task: TaskSpec,
    pub max_parallel: Option<u32>,
    pub max_items: u32,
    pub on_empty: OnEmpty,
    /// A later node reads what each child hands over, so it must be kept.
    pub keeps_handoff: bool,
    /// Fields that later fan-ins add up, so that the sums can be kept instead of the results.
    pub sum_fields: Vec<Arc<str>>,
    /// A later fan-in wants the first or the last result.
    pub keeps_ends: bool,
    /// A later fan-out works on the results as its items, so more of them are kept.
    pub keeps_more: bool,
}

/// How a fan-in joins.
#[derive(Debug, Clone, PartialEq)]
pub enum FanInSpec {
    /// In the engine.
    Aggregate {
        mode: Aggregation,
        field: Option<Arc<str>>,
    },
    /// By a handler that gets `previous_results`.
    Handler(TaskSpec),
}

impl Graph {
    /// Finds a node by name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeIx> {
        self.by_name.get(name).copied()
    }

    /// The node at a place; `None` only for a place of another graph.
    #[must_use]
    pub fn node(&self, ix: NodeIx) -> Option<&Node> {
        self.nodes.get(ix)
    }

    /// The task of a node or of its children, if workers take part in it.
    #[must_use]
    pub fn task(&self, ix: NodeIx) -> Option<&TaskSpec> {
        self.node(ix)?.kind.task()
    }
}

impl Graph {
    /// What the workflow leaves to the handlers that it calls.
    #[must_use]
    pub fn pins(&self, catalog: &Catalog) -> Pins {
        let tasks = self.nodes.iter().filter_map(|node| node.kind.task());
        let handlers = tasks.filter_map(|task| catalog.find(&task.handler));
        let pin = |handler: &Handler| Pinned {
            queue: handler.queue.clone(),
            timeout_seconds: handler.timeout_seconds,
            idempotent: handler.idempotent,
        };
        handlers.map(|h| (h.name.clone(), pin(h))).collect()
    }
}

impl Kind {
    /// The task of a node or of its children.
    #[must_use]
    pub fn task(&self) -> Option<&TaskSpec> {
        match self {
            Self::Task(task) | Self::FanIn(FanInSpec::Handler(task)) => Some(task),
            Self::FanOut(fan_out) => Some(&fan_out.task),
            Self::Start
            | Self::End
            | Self::Conditional(_)
            | Self::FanIn(FanInSpec::Aggregate { .. }) => None,
        }
    }

    /// Whether a worker runs the node itself, not only its children.
    #[must_use]
    pub fn is_task(&self) -> bool {
        matches!(self, Self::Task(_) | Self::FanIn(FanInSpec::Handler(_)))
    }

    /// The word of the language for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::End => "end",
            Self::Task(_) => "task",
            Self::Conditional(_) => "conditional",
            Self::FanOut(_) => "fan_out",
            Self::FanIn(_) => "fan_in",
        }
    }
}
