//! What shall go wrong, take long or come out: the options of a simulation, checked against its graph.

use domain::definition::Graph;
use domain::definition::graph::Kind;
use domain::failure::FailureClass;
use domain::id::NodeId;
use serde_json::Value;

use super::chance::Chance;
use super::timeline::Timeline;
use crate::args::SimulateArgs;
use crate::source::{self, Definition, did_you_mean};

/// The options, in the terms of the graph.
pub(super) struct Plan {
    pub(super) chance: Chance,
    pub(super) workers: u32,
    pub(super) fail_fast: bool,
    pub(super) fail_class: FailureClass,
    /// How many attempts fail; all of them without a number.
    fail: Vec<(NodeId, Option<u32>)>,
    slow_ms: Vec<(NodeId, i64)>,
    set: Vec<(NodeId, (Vec<String>, Value))>,
    pub(super) seed: u64,
}

impl Plan {
    /// Reads the options. The second part of the answer is all that is wrong with them.
    pub(super) fn read(args: &SimulateArgs, definition: &Definition) -> (Self, Vec<String>) {
        let mut plan = Self {
            chance: Chance::new(args.seed),
            workers: args.workers,
            fail_fast: args.fail_fast,
            fail_class: args.fail_class.into(),
            fail: Vec::new(),
            slow_ms: Vec::new(),
            set: Vec::new(),
            seed: args.seed,
        };
        let mut problems = Vec::new();
        let mut keep = |option: &str, text: &str, read: Result<(), String>| {
            if let Err(problem) = read {
                problems.push(format!("{option} {text}: {problem}"));
            }
        };
        let graph = &definition.graph;
        for text in &args.fail {
            let read = failing(text, graph).map(|fail| plan.fail.push(fail));
            keep("--fail", text, read);
        }
        for text in &args.slow {
            let read = slow(text, graph).map(|slow| plan.slow_ms.push(slow));
            keep("--slow", text, read);
        }
        for text in &args.set {
            let read = setting(text, definition).map(|set| plan.set.push(set));
            keep("--set", text, read);
        }
        (plan, problems)
    }

    /// Whether this attempt shall fail.
    pub(super) fn fails(&self, node: &NodeId, attempt: u32) -> bool {
        best(&self.fail, node).is_some_and(|times| times.is_none_or(|times| attempt <= times))
    }

    /// How long this attempt takes.
    pub(super) fn duration_ms(&self, node: &NodeId, attempt: u32) -> i64 {
        let drawn = || {
            let chance = self.chance.of(&format!("{node} {attempt}"));
            i64::from(chance.between(10, 100)) * 100
        };
        best(&self.slow_ms, node).copied().unwrap_or_else(drawn)
    }

    /// The fields to set in the output of a node, those of a single child last.
    pub(super) fn fields<'p>(
        &'p self,
        node: &'p NodeId,
    ) -> impl Iterator<Item = &'p (Vec<String>, Value)> {
        let all = self.set.iter().filter(|(target, _)| covers(target, node));
        let (group, single) = (all.clone(), all);
        group
            .filter(|(target, _)| target.child.is_none())
            .chain(single.filter(|(target, _)| target.child.is_some()))
            .map(|(_, set)| set)
    }

    /// Options about children or nodes that never ran, for a warning.
    pub(super) fn never_used(&self, timeline: &Timeline) -> Vec<String> {
        let fail = self.fail.iter().map(|(node, _)| ("--fail", node));
        let slow = self.slow_ms.iter().map(|(node, _)| ("--slow", node));
        let set = self.set.iter().map(|(node, _)| ("--set", node));
        fail.chain(slow)
            .chain(set)
            .filter(|(_, target)| !timeline.ran(target))
            .map(|(option, node)| format!("`{option} {node}` had no effect: the node never ran"))
            .collect()
    }
}

/// Whether an option for `target` is about `node`.
pub(super) fn covers(target: &NodeId, node: &NodeId) -> bool {
    target.name == node.name && (target.child.is_none() || target.child == node.child)
}

/// What was said about a node: about this child before its fan-out, the last word first.
fn best<'p, T>(options: &'p [(NodeId, T)], node: &NodeId) -> Option<&'p T> {
    let about = || options.iter().rev().filter(|(to, _)| covers(to, node));
    let child = about().find(|(to, _)| to.child.is_some());
    child.or_else(|| about().next()).map(|(_, value)| value)
}

fn failing(text: &str, graph: &Graph) -> Result<(NodeId, Option<u32>), String> {
    let Some((name, times)) = text.rsplit_once(':') else {
        return Ok((target(text, graph)?, None));
    };
    let times = times.parse::<u32>().ok().filter(|times| *times > 0);
    let times = times.ok_or("TIMES must be a whole number above 0, as in `NODE:2`")?;
    Ok((target(name, graph)?, Some(times)))
}

fn slow(text: &str, graph: &Graph) -> Result<(NodeId, i64), String> {
    let (name, seconds) = text
        .rsplit_once(':')
        .ok_or("write NODE:SECONDS, such as `validate:30`")?;
    let seconds = seconds.parse::<f64>().ok();
    let seconds = seconds.filter(|s| (0.0..=1e7).contains(s));
    let seconds = seconds.ok_or("SECONDS must be a number from 0 to 10000000")?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "limited above to what an i64 holds many times over"
    )]
    let ms = (seconds * 1_000.0).round() as i64;
    Ok((target(name, graph)?, ms))
}

fn setting(text: &str, definition: &Definition) -> Result<(NodeId, (Vec<String>, Value)), String> {
    let form = "write NODE.FIELD=VALUE, such as `validate.file_size_mb=20`";
    let (place, value) = text.split_once('=').ok_or(form)?;
    let (name, field) = place.split_once('.').ok_or(form)?;
    let path: Vec<String> = field.split('.').map(str::to_owned).collect();
    let target = target(name, &definition.graph)?;
    let ix = definition.graph.find(&target.name);
    let task = ix.and_then(|ix| definition.graph.task(ix));
    let handler = task.and_then(|task| definition.catalog.find(&task.handler));
    let first = path.first().map_or("", String::as_str);
    let declared = handler.and_then(|h| h.outputs.get(first));
    let Some(declared) = declared else {
        let fields: Vec<&str> =
            handler.map_or_else(Vec::new, |h| h.outputs.keys().map(String::as_str).collect());
        let hint = did_you_mean(first, fields.iter().copied());
        let hint = hint.unwrap_or_else(|| format!("it returns: {}", fields.join(", ")));
        let handler = handler.map_or("", |h| &h.name);
        return Err(format!(
            "the handler `{handler}` returns no field `{first}`; {hint}"
        ));
    };
    let kind = (path.len() == 1).then_some(declared.kind);
    Ok((target, (path, source::value_of(value, kind))))
}

/// The node or child that an option names; a worker must take part in it.
fn target(text: &str, graph: &Graph) -> Result<NodeId, String> {
    let id = NodeId::from(text);
    let Some(node) = graph.find(&id.name).and_then(|ix| graph.node(ix)) else {
        let runs = graph.nodes.iter().filter(|n| n.kind.task().is_some());
        let names: Vec<&str> = runs.map(|n| &*n.name).collect();
        let hint = did_you_mean(&id.name, names.iter().copied());
        let hint = hint.unwrap_or_else(|| format!("its tasks are: {}", names.join(", ")));
        return Err(format!("the workflow has no node `{}`; {hint}", id.name));
    };
    if node.kind.task().is_none() {
        let word = node.kind.word();
        return Err(format!("`{}` is a {word}; no worker runs it", node.name));
    }
    if id.child.is_some() && !matches!(node.kind, Kind::FanOut(_)) {
        return Err(format!("`{}` is no fan_out and has no children", node.name));
    }
    Ok(id)
}
