//! From a validated workflow to a [`Graph`].
//!
//! The validator explains mistakes with their places; this step only refuses. It is also the way
//! back from the log, so it must never panic on a definition that older code accepted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::graph::{
    BranchSpec, BranchTest, ConditionalSpec, FanInSpec, FanOutSpec, Graph, Kind, Node, NodeIx,
    TaskSpec, WorkflowRef,
};
use super::model::{self, DependsOn, OneOrMany, Workflow};
use crate::expr::{Condition, Expr, Template, parse};
use crate::handler::{Catalog, Handler};

/// Most items of a fan-out that sets no limit of its own.
pub const ITEMS_MAX: u32 = 100_000;

/// Why a definition cannot run. The validator says more, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    #[error("the workflow has no nodes")]
    NoNodes,
    #[error("node `{node}` names `{target}`, which does not exist")]
    UnknownNode { node: String, target: String },
    #[error("node `{node}` has a template or condition that does not parse: {reason}")]
    BadExpression { node: String, reason: String },
    #[error("the nodes form a cycle")]
    Cycle,
}

/// Compiles a workflow whose stages have been turned into nodes. `hash` is its content hash.
pub fn compile(workflow: &Workflow, hash: &str, catalog: &Catalog) -> Result<Graph, CompileError> {
    let nodes = workflow
        .nodes
        .as_ref()
        .filter(|n| !n.is_empty())
        .ok_or(CompileError::NoNodes)?;
    let order = topological_order(nodes)?;
    let by_name: BTreeMap<Arc<str>, NodeIx> = order
        .iter()
        .enumerate()
        .map(|(ix, (name, _))| (Arc::from(*name), ix))
        .collect();
    let compiler = Compiler {
        catalog,
        by_name: &by_name,
    };
    let mut compiled = Vec::with_capacity(order.len());
    for (name, node) in &order {
        compiled.push(compiler.node(name, node)?);
    }
    super::link::link(&mut compiled, &order, &by_name);
    let result = workflow
        .result
        .as_ref()
        .map(|value| template("result", value))
        .transpose()?;
    Ok(Graph {
        workflow: WorkflowRef {
            id: workflow.workflow_id.clone(),
            version: workflow.version,
            hash: hash.to_owned(),
        },
        priority: workflow.priority,
        nodes: compiled,
        result,
        by_name,
    })
}

/// The targets that a node names itself, without repetition, in the order of the file.
pub(super) fn targets(node: &model::Node) -> Vec<&str> {
    let named: Vec<&OneOrMany> = match node {
        model::Node::Start(start) => vec![&start.next],
        model::Node::End(_) => Vec::new(),
        model::Node::Task(task) => task.next.iter().collect(),
        model::Node::Conditional(c) => c.branches.iter().map(|b| &b.next).collect(),
        model::Node::FanOut(fan_out) => fan_out.next.iter().collect(),
        model::Node::FanIn(fan_in) => fan_in.next.iter().collect(),
    };
    let mut names = Vec::new();
    for name in named.iter().flat_map(|next| next.names()) {
        if !names.contains(&name.as_str()) {
            names.push(name.as_str());
        }
    }
    names
}

pub(super) fn depends_on(node: &model::Node) -> Option<&DependsOn> {
    match node {
        model::Node::Start(_) => None,
        model::Node::End(end) => end.depends_on.as_ref(),
        model::Node::Task(task) => task.depends_on.as_ref(),
        model::Node::Conditional(conditional) => conditional.depends_on.as_ref(),
        model::Node::FanOut(fan_out) => fan_out.depends_on.as_ref(),
        model::Node::FanIn(fan_in) => fan_in.depends_on.as_ref(),
    }
}

pub(super) type Ordered<'a> = Vec<(&'a str, &'a model::Node)>;

/// Kahn's algorithm; among the nodes that are free, names decide, so that the order is stable.
fn topological_order(nodes: &BTreeMap<String, model::Node>) -> Result<Ordered<'_>, CompileError> {
    let mut edges: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut waiting: BTreeMap<&str, usize> = nodes.keys().map(|name| (name.as_str(), 0)).collect();
    for (name, node) in nodes {
        let own = targets(node).into_iter().map(|to| (name.as_str(), to));
        let wanted = depends_on(node).map_or(&[][..], DependsOn::names);
        for (from, to) in own.chain(wanted.iter().map(|from| (from.as_str(), name.as_str()))) {
            let known = if nodes.contains_key(from) {
                waiting.get_mut(to)
            } else {
                None
            };
            let Some(count) = known else {
                let target = if nodes.contains_key(from) { to } else { from };
                return Err(CompileError::UnknownNode {
                    node: name.clone(),
                    target: target.into(),
                });
            };
            let list = edges.entry(from).or_default();
            if !list.contains(&to) {
                list.push(to);
                *count += 1;
            }
        }
    }
    let mut free: std::collections::BTreeSet<&str> = waiting
        .iter()
        .filter(|(_, count)| **count == 0)
        .map(|(name, _)| *name)
        .collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(name) = free.pop_first() {
        if let Some((name, node)) = nodes.get_key_value(name) {
            order.push((name.as_str(), node));
        }
        for to in edges.get(name).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(to) {
                *count -= 1;
                if *count == 0 {
                    free.insert(to);
                }
            }
        }
    }
    if order.len() == nodes.len() {
        Ok(order)
    } else {
        Err(CompileError::Cycle)
    }
}

fn template(node: &str, value: &Value) -> Result<Template, CompileError> {
    Template::compile(value).map_err(|errors| CompileError::BadExpression {
        node: node.to_owned(),
        reason: errors
            .first()
            .map(|(_, e)| e.to_string())
            .unwrap_or_default(),
    })
}

fn expression(node: &str, source: &str) -> Result<Expr, CompileError> {
    parse(source).map_err(|e| CompileError::BadExpression {
        node: node.to_owned(),
        reason: e.to_string(),
    })
}

struct Compiler<'a> {
    catalog: &'a Catalog,
    by_name: &'a BTreeMap<Arc<str>, NodeIx>,
}

/// The fields that task, item task and fan-in handler have in common.
struct TaskFields<'a> {
    handler: &'a str,
    queue: Option<&'a String>,
    params: &'a serde_json::Map<String, Value>,
    timeout_seconds: Option<u32>,
    dispatch_timeout_seconds: Option<u32>,
    retry: Option<&'a model::Retry>,
    priority: Option<crate::priority::Priority>,
}

macro_rules! task_fields {
    ($task:expr, $handler:expr) => {
        TaskFields {
            handler: $handler,
            queue: $task.queue.as_ref(),
            params: &$task.params,
            timeout_seconds: $task.timeout_seconds,
            dispatch_timeout_seconds: $task.dispatch_timeout_seconds,
            retry: $task.retry.as_ref(),
            priority: $task.priority,
        }
    };
}

impl Compiler<'_> {
    fn node(&self, name: &str, node: &model::Node) -> Result<Node, CompileError> {
        let (kind, when) = match node {
            model::Node::Start(_) => (Kind::Start, None),
            model::Node::End(_) => (Kind::End, None),
            model::Node::Task(task) => {
                let spec = self.task(name, &task_fields!(task, &task.handler))?;
                (Kind::Task(spec), task.when.as_ref())
            }
            model::Node::Conditional(c) => (Kind::Conditional(self.conditional(name, c)?), None),
            model::Node::FanOut(fan_out) => (
                Kind::FanOut(self.fan_out(name, fan_out)?),
                fan_out.when.as_ref(),
            ),
            model::Node::FanIn(fan_in) => {
                let spec = match &fan_in.handler {
                    Some(handler) => {
                        FanInSpec::Handler(self.task(name, &task_fields!(fan_in, handler))?)
                    }
                    None => FanInSpec::Aggregate {
                        mode: fan_in.aggregation,
                        field: fan_in.field.as_deref().map(Arc::from),
                    },
                };
                (Kind::FanIn(spec), fan_in.when.as_ref())
            }
        };
        Ok(Node {
            name: name.into(),
            kind,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            any_of: Vec::new(),
            when: when.map(|source| expression(name, source)).transpose()?,
        })
    }

    fn task(&self, node: &str, fields: &TaskFields<'_>) -> Result<TaskSpec, CompileError> {
        // The validator refuses unknown handlers. On the way back from the log one may be gone
        // meanwhile: its tasks fail when their turn comes, and the job can still be read.
        let gone = Handler::new(fields.handler, "functionapp-tasks", 3_600, "");
        let found = self.catalog.find(fields.handler);
        let handler = found.unwrap_or(&gone);
        let timeout_seconds = fields.timeout_seconds.unwrap_or(handler.timeout_seconds);
        Ok(TaskSpec {
            handler: handler.name.as_str().into(),
            queue: fields.queue.unwrap_or(&handler.queue).as_str().into(),
            priority: fields.priority,
            params: template(node, &Value::Object(fields.params.clone()))?,
            timeout_seconds,
            dispatch_timeout_seconds: fields.dispatch_timeout_seconds.unwrap_or(timeout_seconds),
            retry: fields.retry.cloned(),
            idempotent: handler.idempotent,
            is_known: found.is_some(),
        })
    }

    fn fan_out(&self, name: &str, fan_out: &model::FanOut) -> Result<FanOutSpec, CompileError> {
        Ok(FanOutSpec {
            source: template(name, &fan_out.source)?,
            task: self.task(name, &task_fields!(fan_out.task, &fan_out.task.handler))?,
            max_parallel: fan_out.max_parallel,
            max_items: fan_out.max_items.unwrap_or(ITEMS_MAX).min(ITEMS_MAX),
            on_empty: fan_out.on_empty,
            keeps_handoff: false,
            sum_fields: Vec::new(),
            keeps_ends: false,
            keeps_more: false,
        })
    }

    fn conditional(
        &self,
        name: &str,
        conditional: &model::Conditional,
    ) -> Result<ConditionalSpec, CompileError> {
        let branches = conditional.branches.iter().map(|branch| {
            let test = match (&branch.condition, &branch.when) {
                (Some(text), _) => BranchTest::Field(Condition::parse(text).map_err(|e| {
                    CompileError::BadExpression {
                        node: name.to_owned(),
                        reason: e.to_string(),
                    }
                })?),
                (None, Some(source)) => BranchTest::When(expression(name, source)?),
                (None, None) => BranchTest::Default,
            };
            let names = branch.next.names().iter();
            let next = names
                .filter_map(|to| self.by_name.get(to.as_str()).copied())
                .collect();
            Ok(BranchSpec { test, next })
        });
        Ok(ConditionalSpec {
            field: conditional
                .condition_field
                .as_ref()
                .map(|v| template(name, v))
                .transpose()?,
            branches: branches.collect::<Result<_, CompileError>>()?,
        })
    }
}
