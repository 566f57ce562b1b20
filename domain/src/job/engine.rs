//! What the engine does by itself: skip, announce, choose, expand, join, and end the job.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::aggregate::aggregate;
use super::command::Context;
use super::decide::{EVENT_BYTES_MAX, failed};
use super::event::{Event, Items, SkipReason};
use super::group::RESULT_ITEMS_BYTES_MAX;
use super::result::complete;
use super::scope::JobScope;
use super::state::{Arrivals, Slot, State, Verdict};
use super::status::NodeStatus;
use crate::definition::NodeIx;
use crate::definition::graph::{BranchTest, ConditionalSpec, FanInSpec, FanOutSpec, Kind};
use crate::definition::model::OnEmpty;
use crate::expr::{Budget, EvalError, Template, evaluate, truthy};
use crate::failure::{Failure, FailureClass};
use crate::id::NodeId;
use crate::json::{EVENT_DEPTH_MAX, clean, is_deeper_than, size_bytes};

/// The next step of the engine: at most three events, none when it is settled.
pub(super) fn decide(state: &State, ctx: &Context) -> Vec<Event> {
    if state.created.is_none() || state.status.is_terminal() {
        return Vec::new();
    }
    if let Some(because) = state.frontier.dead.first() {
        let because = state.skipped_because(*because);
        let nodes = skip_closure(state, state.frontier.dead.iter().copied());
        return vec![Event::NodesSkipped {
            nodes,
            reason: SkipReason::BranchNotTaken,
            because,
        }];
    }
    if !state.frontier.ready.is_empty() {
        let ready = state.frontier.ready.iter().take(1_000);
        let nodes = ready.map(|ix| state.id(Slot::node(*ix))).collect();
        return vec![Event::NodesReady { nodes }];
    }
    if let Some(ix) = state.frontier.engine.first() {
        return step(state, *ix, ctx);
    }
    if state.open_nodes() == 0 {
        complete(state, ctx)
    } else {
        Vec::new()
    }
}

impl State {
    /// Whether the engine has nothing left to do by itself.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let frontier = &self.frontier;
        let idle =
            frontier.dead.is_empty() && frontier.ready.is_empty() && frontier.engine.is_empty();
        self.created.is_none() || self.status.is_terminal() || (idle && self.open_nodes() > 0)
    }

    /// The node whose decision cut this one off: its nearest predecessor that was not skipped.
    fn skipped_because(&self, dead: NodeIx) -> NodeId {
        let node = self.graph.node(dead);
        let cause = node.and_then(|n| {
            n.incoming.iter().find_map(|ix| {
                let state = self.nodes.get(*ix)?;
                match &state.skipped {
                    Some((_, because)) => Some(because.clone()),
                    None => Some(self.id(Slot::node(*ix))),
                }
            })
        });
        cause.unwrap_or_else(|| self.id(Slot::node(dead)))
    }
}

/// These nodes and all that can only be reached through them.
fn skip_closure(state: &State, roots: impl Iterator<Item = NodeIx>) -> Vec<NodeId> {
    let mut counted: BTreeMap<NodeIx, Arrivals> = BTreeMap::new();
    let mut open: Vec<NodeIx> = roots.collect();
    let mut skipped: std::collections::BTreeSet<NodeIx> = open.iter().copied().collect();
    while let Some(ix) = open.pop() {
        let Some(node) = state.graph.node(ix) else {
            continue;
        };
        for &to in &node.outgoing {
            let (Some(next), Some(next_state)) = (state.graph.node(to), state.nodes.get(to)) else {
                continue;
            };
            let arrivals = counted.entry(to).or_insert(next_state.arrivals);
            if arrivals.arrive(next, ix, false) == Some(Verdict::Skip) && skipped.insert(to) {
                open.push(to);
            }
        }
    }
    skipped
        .into_iter()
        .map(|ix| state.id(Slot::node(ix)))
        .collect()
}

/// The engine's work on one node whose dependencies are satisfied.
fn step(state: &State, ix: NodeIx, ctx: &Context) -> Vec<Event> {
    let Some(node) = state.graph.node(ix) else {
        return Vec::new();
    };
    let id = state.id(Slot::node(ix));
    let is_fresh = state
        .nodes
        .get(ix)
        .is_some_and(|n| n.work.status == NodeStatus::Pending);
    if is_fresh && let Some(when) = &node.when {
        let scope = JobScope::of_node(state, ix);
        match evaluate(when, &scope, &mut Budget::default()) {
            Ok(value) if truthy(&value) => {}
            Ok(_) => {
                let nodes = skip_closure(state, std::iter::once(ix));
                return vec![Event::NodesSkipped {
                    nodes,
                    reason: SkipReason::ConditionFalse,
                    because: id,
                }];
            }
            Err(error) => return expression_failed(state, ix, "`when`", &error, ctx),
        }
    }
    if state.reuse.nodes.contains_key(&ix) && node.kind.is_task() {
        return vec![Event::NodeReused { node: id }];
    }
    match &node.kind {
        Kind::Start | Kind::End => vec![Event::NodePassed {
            node: id,
            output: None,
        }],
        Kind::Task(_) | Kind::FanIn(FanInSpec::Handler(_)) => {
            vec![Event::NodesReady { nodes: vec![id] }]
        }
        Kind::Conditional(spec) => choose(state, ix, spec, ctx),
        Kind::FanOut(spec) => fan_out(state, ix, spec, ctx),
        Kind::FanIn(FanInSpec::Aggregate { mode, field }) => {
            match aggregate(state, node, *mode, field.as_deref()) {
                Ok(output) if is_deeper_than(&output, EVENT_DEPTH_MAX) => {
                    let message = "the joined outputs are nested too deeply";
                    let failure = Failure::new(FailureClass::Contract, "too_deep", message);
                    failed(state, Slot::node(ix), None, failure, ctx)
                }
                Ok(output) => vec![Event::NodePassed {
                    node: id,
                    output: Some(output),
                }],
                Err(failure) => failed(state, Slot::node(ix), None, failure, ctx),
            }
        }
    }
}

fn expression_failed(
    state: &State,
    ix: NodeIx,
    what: &str,
    error: &EvalError,
    ctx: &Context,
) -> Vec<Event> {
    let message = format!(
        "{what} of `{}` cannot be evaluated: {error}",
        state.id(Slot::node(ix))
    );
    let failure = Failure::new(FailureClass::Contract, "template_error", &message);
    failed(state, Slot::node(ix), None, failure, ctx)
}

fn choose(state: &State, ix: NodeIx, spec: &ConditionalSpec, ctx: &Context) -> Vec<Event> {
    match branch(state, ix, spec) {
        Ok(Some(branch)) => vec![Event::BranchTaken {
            node: state.id(Slot::node(ix)),
            branch,
        }],
        Ok(None) => {
            let message = "no branch matches, and there is no default";
            let failure = Failure::new(FailureClass::Permanent, "no_branch", message);
            failed(state, Slot::node(ix), None, failure, ctx)
        }
        Err(error) => expression_failed(state, ix, "a condition", &error, ctx),
    }
}

/// The first branch that holds.
fn branch(state: &State, ix: NodeIx, spec: &ConditionalSpec) -> Result<Option<u32>, EvalError> {
    let scope = JobScope::of_node(state, ix);
    let mut budget = Budget::default();
    let field = spec
        .field
        .as_ref()
        .map(|field| field.render(&scope, &mut budget));
    for (branch, each) in (0..).zip(&spec.branches) {
        let holds = match &each.test {
            BranchTest::Default => true,
            BranchTest::When(expr) => truthy(&*evaluate(expr, &scope, &mut budget)?),
            BranchTest::Field(condition) => match &field {
                Some(Ok(value)) => condition.holds(value)?,
                // What is not there is null to those who ask for null, and an error to all others.
                Some(Err(EvalError::Undefined(_))) | None if condition.accepts_null() => {
                    condition.holds(&Value::Null)?
                }
                Some(Err(error)) => return Err(error.clone()),
                None => return Err(EvalError::Undefined("condition_field".to_owned())),
            },
        };
        if holds {
            return Ok(Some(branch));
        }
    }
    Ok(None)
}

fn fan_out(state: &State, ix: NodeIx, spec: &FanOutSpec, ctx: &Context) -> Vec<Event> {
    let id = state.id(Slot::node(ix));
    if let Some(group) = state.groups.get(&ix) {
        // All children are done.
        let output = json!({ "count": group.count() });
        return vec![Event::NodePassed {
            node: id,
            output: Some(output),
        }];
    }
    match items(state, ix, &spec.source, spec.max_items) {
        Ok(items) if items.count() == 0 && spec.on_empty == OnEmpty::Fail => {
            let failure = Failure::new(
                FailureClass::Permanent,
                "empty_fan_out",
                "there are no items",
            );
            failed(state, Slot::node(ix), None, failure, ctx)
        }
        Ok(items) => {
            let hash = if state.reuse.children.contains_key(&ix) {
                items.hash()
            } else {
                String::new()
            };
            let mut events = vec![Event::FanOutExpanded {
                node: id.clone(),
                items,
            }];
            if let Some(reused) = state
                .reuse
                .children
                .get(&ix)
                .filter(|r| r.items_hash == hash)
            {
                let ranges = reused.ranges.clone();
                events.push(Event::ChildrenReused { node: id, ranges });
            }
            events
        }
        Err(failure) => failed(state, Slot::node(ix), None, failure, ctx),
    }
}

fn items(state: &State, ix: NodeIx, source: &Template, max: u32) -> Result<Items, Failure> {
    let bad = |class, code, message: &str| Failure::new(class, code, message);
    let mut scope = JobScope::of_node(state, ix);
    scope.results_bytes_max = RESULT_ITEMS_BYTES_MAX;
    let value = source
        .render(&scope, &mut Budget::default())
        .map_err(|error| {
            let message = format!(
                "`source` of `{}` cannot be evaluated: {error}",
                state.id(Slot::node(ix))
            );
            bad(FailureClass::Contract, "template_error", &message)
        })?;
    if is_deeper_than(&value, EVENT_DEPTH_MAX) {
        return Err(bad(
            FailureClass::Contract,
            "too_deep",
            "the items are nested too deeply",
        ));
    }
    let items = match clean(value) {
        Value::Array(list) => {
            if size_bytes(&list) > EVENT_BYTES_MAX / 2 {
                let message = "the items have more than 512 KB; fan out over their number instead";
                return Err(bad(FailureClass::Permanent, "items_too_large", message));
            }
            Items::List(list)
        }
        Value::Number(ref n) if n.as_u64().is_some_and(|n| n > u64::from(max)) => {
            let message = format!("{n} items, but at most {max} are allowed");
            return Err(bad(FailureClass::Permanent, "too_many_items", &message));
        }
        Value::Number(ref n) if n.is_u64() => Items::Count(
            n.as_u64()
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or_default(),
        ),
        Value::Number(n) => {
            let message = format!("`source` must be a list or a whole number from 0 on, not {n}");
            return Err(bad(FailureClass::Contract, "source_not_a_list", &message));
        }
        other => {
            let message = format!(
                "`source` must be a list or a whole number from 0 on, not {}",
                crate::expr::kind(&other)
            );
            return Err(bad(FailureClass::Contract, "source_not_a_list", &message));
        }
    };
    if items.count() > max {
        let message = format!("{} items, but at most {max} are allowed", items.count());
        return Err(bad(FailureClass::Permanent, "too_many_items", &message));
    }
    Ok(items)
}
