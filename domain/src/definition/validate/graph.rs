//! The graph of a workflow: its edges, and what is wrong with them as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::super::code::Code;
use super::super::model::Node;
use super::super::place::Path;
use super::super::report::Report;
use super::circles;
use super::order::{Ancestors, Edges};
use super::targets::{self, Nodes};

/// Most nodes of a circle that a message names.
const CIRCLE_SHOWN_MAX: usize = 20;

/// The nodes by number (in the order of their names) and their edges.
pub(super) struct Graph<'w> {
    pub(super) names: Vec<&'w str>,
    pub(super) nodes: Vec<&'w Node>,
    numbers: BTreeMap<&'w str, usize>,
    pub(super) edges: Edges,
    pub(super) ancestors: Ancestors,
    /// In the order of the file.
    starts: Vec<usize>,
    cycles: Vec<Vec<usize>>,
    /// Some edge is wrong in itself, so that the absence of a path proves nothing.
    pub(super) doubtful: bool,
}

impl<'w> Graph<'w> {
    /// Builds the graph and reports each edge that is wrong in itself.
    pub(super) fn new(report: &mut Report<'_>, nodes: &'w Nodes) -> Self {
        let names: Vec<&str> = nodes.keys().map(String::as_str).collect();
        let numbers: BTreeMap<&str, usize> = names
            .iter()
            .enumerate()
            .map(|(i, name)| (*name, i))
            .collect();
        let mut edges = Edges::new(names.len());
        let mut doubtful = false;
        for (from, (name, node)) in nodes.iter().enumerate() {
            let path = Path::of(["nodes", name]);
            doubtful |= ["type", "next", "depends_on", "branches"]
                .iter()
                .any(|field| report.is_doubtful(&path.then(field)));
            for list in targets::lists(name, node) {
                for target in list.resolve(report, name, nodes) {
                    if let Some(to) = numbers.get(target) {
                        edges.add(from, *to, list.role);
                    }
                }
            }
            edges.may_skip(from, has_condition(node));
        }
        let order = circles::components(&edges);
        let ancestors = Ancestors::new(&edges, &order);
        let is_start = |(_, (_, node)): &(usize, (&String, &Node))| matches!(node, Node::Start(_));
        let starts = nodes.iter().enumerate().filter(is_start);
        let mut starts: Vec<_> = starts
            .map(|(number, (name, _))| (report.position(&Path::of(["nodes", name])), number))
            .collect();
        starts.sort_unstable();
        Self {
            names,
            nodes: nodes.values().collect(),
            numbers,
            ancestors,
            starts: starts.into_iter().map(|(_, number)| number).collect(),
            cycles: order.into_iter().filter(|part| part.len() > 1).collect(),
            edges,
            doubtful,
        }
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    pub(super) fn name(&self, number: usize) -> &'w str {
        self.names.get(number).copied().unwrap_or_default()
    }

    pub(super) fn node(&self, number: usize) -> Option<&'w Node> {
        self.nodes.get(number).copied()
    }

    /// The one start, if the order of the nodes is known.
    pub(super) fn start_of_order(&self) -> Option<usize> {
        match self.starts.as_slice() {
            [start] if self.cycles.is_empty() => Some(*start),
            _ => None,
        }
    }

    /// Reports what is wrong with the graph as a whole.
    pub(super) fn check(&self, report: &mut Report<'_>) {
        self.ends(report);
        let reached = self.reached();
        self.circles(report, &reached);
        let reached: BTreeSet<usize> = reached.into_iter().collect();
        for (number, (name, node)) in self.names.iter().zip(&self.nodes).enumerate() {
            let path = Path::of(["nodes", name]);
            self.dead_end(report, number, node, &path);
            if self.doubtful {
                continue;
            }
            let before = self.edges.before(number);
            let joins = before.iter().any(|number| !self.starts.contains(number));
            if matches!(node, Node::FanIn(_)) && !joins {
                let message = format!("`{name}` has no node before it whose output it could join");
                let hint = format!("let a fan_out or a task name it: next: {name}");
                report.key(&path, Code::NothingToJoin, message, Some(hint));
            } else if !self.starts.is_empty() && !reached.contains(&number) {
                let message = format!("no way leads from the start to `{name}`");
                let hint = "let another node name it in `next`, or remove it".to_owned();
                report.key(&path, Code::Unreachable, message, Some(hint));
            }
        }
    }

    fn ends(&self, report: &mut Report<'_>) {
        let unsure = self
            .names
            .iter()
            .any(|name| report.is_doubtful(&Path::of(["nodes", name, "type"])));
        let path = Path::of(["nodes"]);
        match self.starts.split_first() {
            None if !unsure => {
                let message = "the workflow has no node of type start";
                let hint = "add START: {type: start, next: ...}".to_owned();
                report.key(&path, Code::StartCount, message, Some(hint));
            }
            None => {}
            Some((first, others)) => {
                for other in others {
                    let (name, first) = (self.name(*other), self.name(*first));
                    let message = format!("`{name}` is a second start beside `{first}`");
                    let hint = "one start may lead to many nodes: next: [a, b]".to_owned();
                    report.key(&path.then(name), Code::StartCount, message, Some(hint));
                }
            }
        }
        if !unsure && !self.nodes.iter().any(|node| matches!(node, Node::End(_))) {
            let message = "the workflow has no node of type end";
            let hint = "add END: {type: end}".to_owned();
            report.key(&path, Code::NoEnd, message, Some(hint));
        }
    }

    fn dead_end(&self, report: &mut Report<'_>, number: usize, node: &Node, path: &Path) {
        let names_some = targets::successors(node).is_some_and(|next| !next.names().is_empty());
        let branches = matches!(node, Node::Conditional(_) | Node::End(_));
        let doubtful = report.is_doubtful(&path.then("next"));
        if branches || names_some || doubtful || !self.edges.after(number).is_empty() {
            return;
        }
        let message = format!("`{}` leads nowhere", self.name(number));
        let hint = "give it a `next`; the last one leads to an end".to_owned();
        report.key(path, Code::DeadEnd, message, Some(hint));
    }

    /// One report per circle, at the node where one enters it.
    fn circles(&self, report: &mut Report<'_>, reached: &[usize]) {
        for part in &self.cycles {
            let part: BTreeSet<usize> = part.iter().copied().collect();
            let first = reached.iter().copied().find(|number| part.contains(number));
            let Some(first) = first.or_else(|| part.first().copied()) else {
                continue;
            };
            let circle = circles::circle(&self.edges, first, &part);
            let mut names: Vec<&str> = circle.iter().map(|number| self.name(*number)).collect();
            if names.len() > CIRCLE_SHOWN_MAX {
                names.truncate(CIRCLE_SHOWN_MAX);
                names.push("...");
            }
            names.push(self.name(first));
            let message = format!("the nodes go round in a circle: {}", names.join(" -> "));
            let hint = "remove one of these edges".to_owned();
            let path = Path::of(["nodes", self.name(first)]);
            report.key(&path, Code::Cycle, message, Some(hint));
        }
    }

    /// The nodes that the start leads to, nearest first.
    fn reached(&self) -> Vec<usize> {
        let mut order = self.starts.clone();
        let mut seen: BTreeSet<usize> = order.iter().copied().collect();
        let mut next = 0;
        while let Some(number) = order.get(next).copied() {
            next += 1;
            let after = self.edges.after(number);
            order.extend(after.iter().copied().filter(|to| seen.insert(*to)));
        }
        order
    }
}

fn has_condition(node: &Node) -> bool {
    match node {
        Node::Task(task) => task.when.is_some(),
        Node::FanOut(fan_out) => fan_out.when.is_some(),
        Node::FanIn(fan_in) => fan_in.when.is_some(),
        Node::Start(_) | Node::End(_) | Node::Conditional(_) => false,
    }
}
