//! Each node for itself: its name, and fields that belong together.

use super::super::code::Code;
use super::super::model::{Aggregation, Branch, Conditional, FanIn, FanOut, Node, Retry};
use super::super::place::Path;
use super::super::report::Report;
use super::super::structure::cut;
use super::NODES_MAX;
use super::targets::Nodes;
use crate::expr::{Condition, Template};

const NAME_CHARS_MAX: usize = 64;

/// Checks the names; `false` if there are too many nodes to look at.
pub(super) fn names(report: &mut Report<'_>, nodes: &Nodes) -> bool {
    let path = Path::of(["nodes"]);
    if nodes.len() > NODES_MAX {
        let message = format!("{} nodes; a workflow has at most {NODES_MAX}", nodes.len());
        let hint = "a fan_out runs up to 100,000 tasks with one node".to_owned();
        report.key(&path, Code::TooManyNodes, message, Some(hint));
        return false;
    }
    for name in nodes.keys() {
        // The names of stages were checked with the stages.
        if !report.is_stage(name) {
            node_name(report, name, &path.then(name), true);
        }
    }
    true
}

/// Checks the name of a node or stage, which stands in a key or a value.
pub(in super::super) fn node_name(report: &mut Report<'_>, name: &str, path: &Path, is_key: bool) {
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let fits = name.len() <= NAME_CHARS_MAX && starts && goes_on;
    if fits && !name.contains("__") {
        return;
    }
    let message = format!("`{}` cannot be the name of a node", cut(name));
    let hint = if fits {
        "`__` is kept for the children of a fan_out".to_owned()
    } else {
        format!("a letter, then letters, digits, `_` and `-`; at most {NAME_CHARS_MAX}")
    };
    if is_key {
        report.key(path, Code::NodeName, message, Some(hint));
    } else {
        report.value(path, Code::NodeName, message, Some(hint));
    }
}

/// Checks the fields of each node.
pub(super) fn check(report: &mut Report<'_>, nodes: &Nodes) {
    for (name, node) in nodes {
        let path = Path::of(["nodes", name]);
        match node {
            Node::Start(_) | Node::End(_) => {}
            Node::Task(task) => retry(report, task.retry.as_ref(), &path),
            Node::Conditional(node) => conditional(report, node, &path),
            Node::FanOut(fan_out) => {
                source(report, fan_out, &path.then("source"));
                retry(report, fan_out.task.retry.as_ref(), &path.then("task"));
            }
            Node::FanIn(node) => {
                fan_in(report, node, &path);
                retry(report, node.retry.as_ref(), &path);
            }
        }
    }
}

fn retry(report: &mut Report<'_>, retry: Option<&Retry>, path: &Path) {
    let path = path.then("retry");
    let Some(retry) = retry.filter(|_| !report.is_doubtful(&path)) else {
        return;
    };
    let (first, longest) = (retry.initial_delay_seconds, retry.max_delay_seconds);
    if longest < first {
        let message =
            format!("the longest delay, {longest} s, is shorter than the first, {first} s");
        report.key(&path, Code::RetryDelays, message, None);
    }
}

fn conditional(report: &mut Report<'_>, node: &Conditional, path: &Path) {
    let branches = path.then("branches");
    let last = node.branches.len().saturating_sub(1);
    let mut has_default = false;
    for (index, branch) in node.branches.iter().enumerate() {
        let at = branches.then(index);
        has_default |= branch.default || report.is_doubtful(&at);
        one_kind(report, branch, &at);
        if branch.default && index != last {
            let message = "nothing below the default branch can ever be taken";
            let hint = "move it to the end; there is one default".to_owned();
            report.value(&at, Code::DefaultNotLast, message, Some(hint));
        }
        if let Some(condition) = &branch.condition
            && let Err(error) = Condition::parse(condition)
        {
            let hint = "an operator and a value, such as \"< 100\" or \"in [a, b]\"".to_owned();
            report.value(
                &at.then("condition"),
                Code::BadCondition,
                error.to_string(),
                Some(hint),
            );
        }
    }
    if !has_default && !node.branches.is_empty() && !report.is_doubtful(&branches) {
        let message = "no default: a value that matches nothing would leave the job without a way";
        let hint = "add a last branch: {default: true, next: ...}".to_owned();
        report.key(&branches, Code::NoDefault, message, Some(hint));
    }
    condition_field(report, node, path);
}

fn one_kind(report: &mut Report<'_>, branch: &Branch, path: &Path) {
    let doubtful = ["condition", "when", "default"]
        .iter()
        .any(|field| report.is_doubtful(&path.then(field)));
    let kinds = [
        branch.condition.is_some(),
        branch.when.is_some(),
        branch.default,
    ];
    let message = match kinds.iter().filter(|given| **given).count() {
        1 => return,
        0 => "the branch has no condition, no `when` and is no default",
        _ => "the branch has more than one of `condition`, `when` and `default`",
    };
    if !doubtful {
        report.value(path, Code::BranchKind, message, None);
    }
}

fn condition_field(report: &mut Report<'_>, node: &Conditional, path: &Path) {
    let at = path.then("condition_field");
    if report.is_doubtful(&at) || report.is_doubtful(&path.then("branches")) {
        return;
    }
    let used = node
        .branches
        .iter()
        .any(|branch| branch.condition.is_some());
    match &node.condition_field {
        None if used => {
            let message = "`condition` needs a `condition_field` to look at";
            let hint = "such as condition_field: \"{{ nodes.x.output.size }}\"".to_owned();
            report.key(path, Code::ConditionField, message, Some(hint));
        }
        Some(_) if !used => {
            let message = "no branch has a `condition` that looks at it";
            report.key(&at, Code::ConditionField, message, None);
        }
        Some(value) if matches!(Template::compile(value), Ok(Template::Literal(_))) => {
            let message = "the value is always the same, so that one branch is always taken";
            let hint = "a template stands in braces: \"{{ ... }}\"".to_owned();
            report.value(&at, Code::ConditionField, message, Some(hint));
        }
        _ => {}
    }
}

fn source(report: &mut Report<'_>, fan_out: &FanOut, path: &Path) {
    let text = match Template::compile(&fan_out.source) {
        Ok(Template::Literal(value)) => !(value.is_array() || value.as_u64().is_some()),
        Ok(Template::Text(_) | Template::Map(_)) => true,
        _ => false,
    };
    if text {
        let message = "the source is neither a list nor a number of items";
        let hint = "a list, a number, or exactly one template: \"{{ ... }}\"".to_owned();
        report.value(path, Code::BadSource, message, Some(hint));
    }
}

fn fan_in(report: &mut Report<'_>, node: &FanIn, path: &Path) {
    let handler = path.then("handler");
    let has_handler = node.handler.is_some() || report.is_doubtful(&handler);
    let mut clash = |field: &str, message: String| {
        report.key(&path.then(field), Code::FieldsClash, message, None);
    };
    if has_handler {
        if node.aggregation != Aggregation::default() {
            clash(
                "aggregation",
                "the handler does the joining, not `aggregation`".to_owned(),
            );
        }
        if node.field.is_some() {
            clash(
                "field",
                "the handler does the joining and gets whole outputs".to_owned(),
            );
        }
        return;
    }
    let given = [
        ("queue", node.queue.is_some()),
        ("params", !node.params.is_empty()),
        ("timeout_seconds", node.timeout_seconds.is_some()),
        (
            "dispatch_timeout_seconds",
            node.dispatch_timeout_seconds.is_some(),
        ),
        ("retry", node.retry.is_some()),
        ("priority", node.priority.is_some()),
    ];
    for (field, _) in given.iter().filter(|(_, given)| *given) {
        clash(field, format!("`{field}` is for a fan_in with a `handler`"));
    }
    let needs = matches!(node.aggregation, Aggregation::Concat | Aggregation::Sum);
    if needs && node.field.is_none() && !report.is_doubtful(&path.then("field")) {
        let message = "the aggregation needs a `field`: which one of each output to join";
        report.value(&path.then("aggregation"), Code::FieldNeeded, message, None);
    }
}
