//! The edges that a file writes down: each list of names, checked name by name.

use std::collections::{BTreeMap, BTreeSet};

use super::super::code::Code;
use super::super::model::{DependsOn, Node, OneOrMany};
use super::super::place::Path;
use super::super::report::Report;

/// The nodes of a workflow, by name.
pub(super) type Nodes = BTreeMap<String, Node>;

/// Where a list of names stands, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The nodes come after this one.
    Next,
    /// The nodes come after this one if the branch of this number is taken.
    Branch(usize),
    /// This one waits for all of the nodes.
    AllOf,
    /// This one waits for any of the nodes.
    AnyOf,
}

/// One list of names of a node.
pub(super) struct Targets<'w> {
    pub(super) role: Role,
    pub(super) names: &'w [String],
    path: Path,
    /// The names stand in a list, so that each has its own place.
    listed: bool,
}

/// The lists of names of a node.
pub(super) fn lists<'w>(name: &str, node: &'w Node) -> Vec<Targets<'w>> {
    let path = Path::of(["nodes", name]);
    let mut lists = Vec::new();
    let mut next = |next: &'w OneOrMany, role, path| {
        lists.push(Targets {
            role,
            names: next.names(),
            path,
            listed: matches!(next, OneOrMany::Many(_)),
        });
    };
    if let Some(names) = successors(node) {
        next(names, Role::Next, path.then("next"));
    }
    if let Node::Conditional(conditional) = node {
        for (index, branch) in conditional.branches.iter().enumerate() {
            let path = path.then("branches").then(index).then("next");
            next(&branch.next, Role::Branch(index), path);
        }
    }
    if let Some(depends_on) = depends_on(node) {
        let path = path.then("depends_on");
        let (role, path, listed) = match depends_on {
            DependsOn::Names(names) => (Role::AllOf, path, matches!(names, OneOrMany::Many(_))),
            DependsOn::All(_) => (Role::AllOf, path.then("all_of"), true),
            DependsOn::Any(_) => (Role::AnyOf, path.then("any_of"), true),
        };
        lists.push(Targets {
            role,
            names: depends_on.names(),
            path,
            listed,
        });
    }
    lists
}

/// The `next` of a node.
pub(super) fn successors(node: &Node) -> Option<&OneOrMany> {
    match node {
        Node::Start(start) => Some(&start.next),
        Node::Task(task) => task.next.as_ref(),
        Node::FanOut(fan_out) => fan_out.next.as_ref(),
        Node::FanIn(fan_in) => fan_in.next.as_ref(),
        Node::Conditional(_) | Node::End(_) => None,
    }
}

/// The `depends_on` of a node.
pub(super) fn depends_on(node: &Node) -> Option<&DependsOn> {
    match node {
        Node::Start(_) => None,
        Node::End(end) => end.depends_on.as_ref(),
        Node::Task(task) => task.depends_on.as_ref(),
        Node::Conditional(conditional) => conditional.depends_on.as_ref(),
        Node::FanOut(fan_out) => fan_out.depends_on.as_ref(),
        Node::FanIn(fan_in) => fan_in.depends_on.as_ref(),
    }
}

impl<'w> Targets<'w> {
    /// The nodes that are meant; everything else is reported.
    pub(super) fn resolve(
        &self,
        report: &mut Report<'_>,
        owner: &str,
        nodes: &'w Nodes,
    ) -> Vec<&'w str> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        if self.names.is_empty() && self.role != Role::Next && !report.is_doubtful(&self.path) {
            let message = "the list names no node";
            report.value(&self.path, Code::WrongLength, message, None);
        }
        for (index, name) in self.names.iter().enumerate() {
            let path = if self.listed {
                self.path.then(index)
            } else {
                self.path.clone()
            };
            if !seen.insert(name) {
                let message = format!("`{name}` stands in this list already");
                report.value(&path, Code::DuplicateTarget, message, None);
                continue;
            }
            if let Some(name) = self.target(report, owner, name, &path, nodes) {
                found.push(name);
            }
        }
        found
    }

    fn target(
        &self,
        report: &mut Report<'_>,
        owner: &str,
        name: &'w str,
        path: &Path,
        nodes: &'w Nodes,
    ) -> Option<&'w str> {
        let Some((known, node)) = nodes.get_key_value(name) else {
            let others = || {
                nodes
                    .keys()
                    .map(String::as_str)
                    .filter(|other| *other != owner)
            };
            let meant = report.suggest(name, others());
            let hint = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!(
                    "define `{name}` below `nodes`, or name one of {}",
                    some(others())
                ),
            };
            let message = format!("the node `{name}` does not exist");
            report.value(path, Code::UnknownNode, message, Some(hint));
            // What is meant is clear enough to go on with.
            return meant;
        };
        let waits = matches!(self.role, Role::AllOf | Role::AnyOf);
        if name == owner {
            let message = format!("`{name}` names itself");
            report.value(path, Code::BadTarget, message, None);
            return None;
        }
        if matches!(node, Node::Start(_)) {
            let (message, hint) = if waits {
                let hint = format!("let the start name this node: next: {owner}");
                ("a node waits for the start by itself", Some(hint))
            } else {
                ("nothing leads back to the start", None)
            };
            report.value(path, Code::BadTarget, message, hint);
            return None;
        }
        if waits && matches!(node, Node::End(_)) {
            let message = format!("`{name}` is an end, nothing comes after it");
            report.value(path, Code::EndHasSuccessor, message, None);
            return None;
        }
        Some(known)
    }
}

/// A few names, for hints.
fn some<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<_> = names.take(8).collect();
    if names.len() == 8 {
        names.pop();
        names.push("...");
    }
    names.join(", ")
}
