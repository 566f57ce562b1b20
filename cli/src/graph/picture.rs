//! What a picture of a workflow shows, whatever the format.

use domain::definition::graph::Kind;
use domain::definition::model::{self, Node};
use serde_json::Value;

use crate::source::Definition;

/// Longest text in a box; the whole text is in its tooltip.
const CHARS_MAX: usize = 40;

/// Boxes and arrows. Nodes stand in topological order.
pub(super) struct Picture {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) nodes: Vec<Item>,
    pub(super) edges: Vec<Edge>,
}

/// One box.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) shape: Shape,
    /// The word of its type and what else matters, a line each.
    pub(super) lines: Vec<String>,
    /// How often a fan-out runs its task, such as `x N`.
    pub(super) times: Option<String>,
}

/// The outline of a box: one per node type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Start,
    End,
    Task,
    Conditional,
    FanOut,
    FanIn,
}

/// One arrow, with the condition under which it is taken.
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: Option<String>,
}

impl Picture {
    pub(super) fn of(definition: &Definition) -> Self {
        let (workflow, graph) = (&definition.workflow, &definition.graph);
        let in_file = |name: &str| workflow.nodes.as_ref().and_then(|nodes| nodes.get(name));
        let mut nodes = Vec::new();
        let mut edges = Vec::new();
        for (from, node) in graph.nodes.iter().enumerate() {
            let written = in_file(&node.name);
            let mut lines = vec![headline(&node.kind)];
            lines.extend(written.and_then(condition).map(|text| cut(&text)));
            if node.any_of.len() > 1 {
                let names = node
                    .any_of
                    .iter()
                    .filter_map(|ix| graph.node(*ix))
                    .map(|n| &*n.name);
                let names: Vec<&str> = names.collect();
                lines.push(cut(&format!("after any one of {}", names.join(", "))));
            }
            nodes.push(Item {
                name: node.name.to_string(),
                shape: shape(&node.kind),
                lines,
                times: written.and_then(times),
            });
            edges.extend(node.outgoing.iter().map(|&to| {
                Edge {
                    from,
                    to,
                    label: graph
                        .node(to)
                        .and_then(|target| label(written?, &target.name)),
                }
            }));
        }
        Self {
            id: workflow.workflow_id.clone(),
            title: format!("{} (version {})", workflow.name, workflow.version),
            nodes,
            edges,
        }
    }
}

impl Item {
    /// The name as far as it fits.
    pub(super) fn short_name(&self) -> String {
        cut(&self.name)
    }
}

fn shape(kind: &Kind) -> Shape {
    match kind {
        Kind::Start => Shape::Start,
        Kind::End => Shape::End,
        Kind::Task(_) => Shape::Task,
        Kind::Conditional(_) => Shape::Conditional,
        Kind::FanOut(_) => Shape::FanOut,
        Kind::FanIn(_) => Shape::FanIn,
    }
}

fn headline(kind: &Kind) -> String {
    match kind.task() {
        Some(task) => cut(&format!("{} {}", kind.word(), task.handler)),
        None => kind.word().to_owned(),
    }
}

/// What the node looks at before it runs or chooses.
fn condition(node: &Node) -> Option<String> {
    let when = |when: &Option<String>| Some(format!("when {}", when.as_ref()?));
    match node {
        Node::Task(task) => when(&task.when),
        Node::FanOut(fan_out) => when(&fan_out.when),
        Node::FanIn(fan_in) => when(&fan_in.when),
        Node::Conditional(conditional) => {
            let field = conditional.condition_field.as_ref()?;
            let text = field
                .as_str()
                .map_or_else(|| field.to_string(), str::to_owned);
            let inner = text
                .trim()
                .strip_prefix("{{")
                .and_then(|t| t.strip_suffix("}}"));
            Some(inner.map_or(text.as_str(), str::trim).to_owned())
        }
        Node::Start(_) | Node::End(_) => None,
    }
}

fn times(node: &Node) -> Option<String> {
    let Node::FanOut(fan_out) = node else {
        return None;
    };
    Some(match &fan_out.source {
        Value::Number(count) => format!("x {count}"),
        Value::Array(items) => format!("x {}", items.len()),
        _ => "x N".to_owned(),
    })
}

/// The conditions under which a conditional leads to `target`.
fn label(node: &Node, target: &str) -> Option<String> {
    let Node::Conditional(conditional) = node else {
        return None;
    };
    let leads = |branch: &&model::Branch| branch.next.names().iter().any(|name| name == target);
    let words: Vec<String> = conditional
        .branches
        .iter()
        .filter(leads)
        .map(branch)
        .collect();
    (!words.is_empty()).then(|| cut(&words.join(" or ")))
}

/// The words for one branch.
pub(crate) fn branch(branch: &model::Branch) -> String {
    match (&branch.condition, &branch.when) {
        (Some(condition), _) => condition.trim().to_owned(),
        (None, Some(when)) => when.trim().to_owned(),
        (None, None) => "default".to_owned(),
    }
}

fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= CHARS_MAX {
        return line;
    }
    let kept: String = line.chars().take(CHARS_MAX - 1).collect();
    format!("{kept}…")
}
