//! The edges of a graph, and what each node needs of the fan-outs before it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compile::{Ordered, depends_on, targets};
use super::graph::{BranchTest, FanInSpec, Kind, Node, NodeIx};
use super::model::{Aggregation, DependsOn};
use crate::expr::Reference;

/// Fills in the edges: first those of `depends_on` in its order, then those of others' `next`.
///
/// One node of `any_of` is enough; a node whose `next` leads here is always waited for.
pub(super) fn link(
    compiled: &mut [Node],
    order: &Ordered<'_>,
    by_name: &BTreeMap<Arc<str>, NodeIx>,
) {
    let mut edges: Vec<(NodeIx, NodeIx, bool)> = Vec::new();
    for (to, (_, node)) in order.iter().enumerate() {
        let any = depends_on(node).is_some_and(DependsOn::is_any);
        for from in depends_on(node).map_or(&[][..], DependsOn::names) {
            edges.extend(by_name.get(from.as_str()).map(|from| (*from, to, any)));
        }
    }
    for (from, (_, node)) in order.iter().enumerate() {
        for to in targets(node) {
            edges.extend(by_name.get(to).map(|to| (from, *to, false)));
        }
    }
    for (from, to, any) in edges {
        let Some(node) = compiled.get_mut(to) else {
            continue;
        };
        match node.any_of.binary_search(&from) {
            Ok(place) if !any => {
                node.any_of.remove(place);
            }
            Err(place) if any => node.any_of.insert(place, from),
            _ => {}
        }
        if node.incoming.contains(&from) {
            continue;
        }
        node.incoming.push(from);
        let needs = Needs::of(node);
        if let Some(before) = compiled.get_mut(from) {
            before.outgoing.push(to);
            if let Kind::FanOut(fan_out) = &mut before.kind {
                fan_out.keeps_handoff |= needs.handoff;
                fan_out.keeps_more |= needs.results_as_items;
                fan_out.keeps_ends |= needs.ends;
                fan_out.sum_fields.extend(needs.sum);
            }
        }
    }
}

/// What a node needs of the children of a fan-out before it.
struct Needs {
    handoff: bool,
    results_as_items: bool,
    ends: bool,
    sum: Option<Arc<str>>,
}

impl Needs {
    fn of(node: &Node) -> Self {
        let (mut ends, mut sum) = (false, None);
        let mut reads: Vec<Reference> = Vec::new();
        let mut results_as_items = false;
        match &node.kind {
            Kind::FanIn(FanInSpec::Aggregate { mode, field }) => {
                ends = matches!(mode, Aggregation::First | Aggregation::Last);
                sum = field.clone().filter(|_| *mode == Aggregation::Sum);
            }
            Kind::FanOut(spec) => {
                reads.extend(spec.source.references().into_iter().map(|(_, r)| r));
                results_as_items = reads.iter().any(|r| is_root(r, "previous_results"));
            }
            Kind::Conditional(spec) => {
                reads.extend(
                    spec.field
                        .iter()
                        .flat_map(|f| f.references())
                        .map(|(_, r)| r),
                );
                for branch in &spec.branches {
                    if let BranchTest::When(expr) = &branch.test {
                        expr.references(&mut reads);
                    }
                }
            }
            Kind::Start | Kind::End | Kind::Task(_) | Kind::FanIn(FanInSpec::Handler(_)) => {}
        }
        let params = node.kind.task().map(|task| task.params.references());
        reads.extend(params.into_iter().flatten().map(|(_, r)| r));
        if let Some(when) = &node.when {
            when.references(&mut reads);
        }
        let handoff = reads.iter().any(|r| is_root(r, "next_stage_params"));
        Self {
            handoff,
            results_as_items,
            ends,
            sum,
        }
    }
}

fn is_root(reference: &Reference, root: &str) -> bool {
    reference.path.first().and_then(|segment| segment.key()) == Some(root)
}
