//! The children of a fan-out: one flat list, whatever their number.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::event::{Items, ReusedChildren, ReusedRange};
use super::state::Work;
use super::status::NodeStatus;
use crate::definition::graph::FanOutSpec;
use crate::expr::{Budget, Expr, Segment, Template};
use crate::json::size_bytes;

/// Results of one fan-out that are kept in memory and passed inline; beyond it they are passed by
/// a manifest that names the children.
pub(super) const RESULTS_BYTES_MAX: usize = 64 * 1024;

/// The same where a later fan-out works on the results as its items.
pub(super) const RESULT_ITEMS_BYTES_MAX: usize = 512 * 1024;

/// What a child hands to the task of the same index in the next stage, at most.
pub(super) const HANDOFF_BYTES_MAX: usize = 1024;

/// The children of one expanded fan-out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) items: Items,
    children: Vec<Work>,
    /// Children that are not completed.
    pub(super) remaining: u32,
    /// Children that are dispatched or running.
    pub(super) in_flight: u32,
    /// Children from here on have never been dispatched.
    cursor: u32,
    /// Children that are ready once more.
    again: VecDeque<u32>,
    pub(super) results: Results,
    /// Children whose results lie with an older job.
    pub(super) reused: Vec<ReusedRange>,
    /// `next_stage_params` of each child, if a later stage reads them.
    pub(super) handoffs: BTreeMap<u32, Value>,
}

/// What is kept of the children's outputs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Results {
    /// `None` once they have grown too large.
    kept: Option<BTreeMap<u32, Value>>,
    bytes: usize,
    bytes_max: usize,
    keeps_ends: bool,
    first: Option<(u32, Value)>,
    last: Option<(u32, Value)>,
    sums: BTreeMap<Arc<str>, Result<Value, u32>>,
}

impl Group {
    pub(super) fn new(items: Items, spec: &FanOutSpec) -> Self {
        let count = items.count();
        Self {
            items,
            children: (0..count).map(|_| Work::new(NodeStatus::Ready)).collect(),
            remaining: count,
            in_flight: 0,
            cursor: 0,
            again: VecDeque::new(),
            results: Results {
                kept: Some(BTreeMap::new()),
                keeps_ends: spec.keeps_ends,
                bytes_max: if spec.keeps_more {
                    RESULT_ITEMS_BYTES_MAX
                } else {
                    RESULTS_BYTES_MAX
                },
                sums: spec
                    .sum_fields
                    .iter()
                    .map(|f| (Arc::clone(f), Ok(json!(0))))
                    .collect(),
                ..Results::default()
            },
            reused: Vec::new(),
            handoffs: BTreeMap::new(),
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.items.count()
    }

    pub(super) fn child(&self, index: u32) -> Option<&Work> {
        self.children.get(index as usize)
    }

    pub(super) fn child_mut(&mut self, index: u32) -> Option<&mut Work> {
        self.children.get_mut(index as usize)
    }

    pub(super) fn children(&self) -> impl Iterator<Item = (u32, &Work)> {
        (0..).zip(&self.children)
    }

    pub(super) fn children_mut(&mut self) -> impl Iterator<Item = &mut Work> {
        self.children.iter_mut()
    }

    /// The item that a child works on.
    pub(super) fn item(&self, index: u32) -> Value {
        match &self.items {
            Items::Count(_) => index.into(),
            Items::List(items) => items.get(index as usize).cloned().unwrap_or_default(),
        }
    }

    /// Children that could be dispatched now, in order, before any limit.
    pub(super) fn ready(&self) -> impl Iterator<Item = u32> {
        let fresh = (self.cursor..self.count()).filter(|i| {
            self.child(*i)
                .is_some_and(|w| w.status == NodeStatus::Ready)
        });
        self.again.iter().copied().chain(fresh)
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.again.is_empty() || self.cursor < self.count()
    }

    /// How many more may be at work under `max_parallel`.
    pub(super) fn room(&self, max_parallel: Option<u32>) -> u32 {
        max_parallel
            .unwrap_or(u32::MAX)
            .saturating_sub(self.in_flight)
    }

    pub(super) fn queue_again(&mut self, index: u32) {
        self.again.push_back(index);
    }

    pub(super) fn took(&mut self, index: u32) {
        if let Some(place) = self.again.iter().position(|i| *i == index) {
            self.again.remove(place);
        }
        self.skip_done();
    }

    /// Moves the cursor past children that are no longer fresh.
    pub(super) fn skip_done(&mut self) {
        let fresh = |w: &Work| w.status == NodeStatus::Ready && w.attempt == 1 && w.epoch == 0;
        while self.child(self.cursor).is_some_and(|w| !fresh(w)) {
            self.cursor += 1;
        }
    }

    pub(super) fn stop_dispatch(&mut self) {
        self.cursor = self.count();
        self.again.clear();
    }
}

impl Results {
    /// Takes in the output of a child.
    pub(super) fn add(&mut self, index: u32, output: &Value) {
        for (field, sum) in &mut self.sums {
            // The first child without a number is the one to name.
            if let Ok(so_far) = sum {
                let next = output.get(&**field).and_then(|value| add(so_far, value));
                *sum = next.ok_or(index);
            }
        }
        self.add_end(index, output);
        if let Some(kept) = &mut self.kept {
            self.bytes += size_bytes(output);
            kept.insert(index, output.clone());
            if self.bytes > self.bytes_max {
                self.kept = None;
            }
        }
    }

    fn add_end(&mut self, index: u32, output: &Value) {
        if self.keeps_ends && self.first.as_ref().is_none_or(|(i, _)| index < *i) {
            self.first = Some((index, output.clone()));
        }
        if self.keeps_ends && self.last.as_ref().is_none_or(|(i, _)| index > *i) {
            self.last = Some((index, output.clone()));
        }
    }

    /// Takes over what an older job kept of children whose outputs are not at hand.
    pub(super) fn take_over(&mut self, reused: &ReusedChildren) {
        self.kept = None;
        for (field, value) in &reused.sums {
            if let Some(sum) = self.sums.get_mut(field.as_str()) {
                *sum = Ok(value.clone());
            }
        }
        for (index, value) in &reused.ends {
            self.add_end(*index, value);
        }
    }

    /// What a new job must know of these results if their outputs are not at hand.
    pub(super) fn hand_over(&self) -> (Map<String, Value>, Vec<(u32, Value)>) {
        let sums = self
            .sums
            .iter()
            .filter_map(|(f, sum)| Some((f.to_string(), sum.clone().ok()?)));
        let ends = [&self.first, &self.last].into_iter().flatten().cloned();
        (sums.collect(), ends.collect())
    }

    /// All outputs in order, unless they were too large to keep.
    pub(super) fn values(&self) -> Option<impl Iterator<Item = &Value>> {
        self.kept.as_ref().map(BTreeMap::values)
    }

    /// The output of one child, if it is kept.
    pub(super) fn get(&self, index: u32) -> Option<&Value> {
        self.kept.as_ref()?.get(&index)
    }

    pub(super) fn first(&self) -> Option<&Value> {
        self.first.as_ref().map(|(_, v)| v)
    }

    pub(super) fn last(&self) -> Option<&Value> {
        self.last.as_ref().map(|(_, v)| v)
    }

    /// The sum of a field, or the child that has no number there.
    pub(super) fn sum(&self, field: &str) -> Option<Result<&Value, u32>> {
        self.sums
            .get(field)
            .map(|sum| sum.as_ref().map_err(|index| *index))
    }
}

/// Adds two JSON numbers by the rules of the expression language.
pub(super) fn add(a: &Value, b: &Value) -> Option<Value> {
    struct Pair<'a>(&'a Value, &'a Value);
    impl crate::expr::Scope for Pair<'_> {
        fn find(&self, path: &[Segment]) -> Option<(std::borrow::Cow<'_, Value>, usize)> {
            let value = if path.first()?.key()? == "a" {
                self.0
            } else {
                self.1
            };
            Some((std::borrow::Cow::Borrowed(value), 1))
        }
    }
    if !a.is_number() || !b.is_number() {
        return None;
    }
    let path = |name: &str| Box::new(Expr::Path(vec![Segment::Key(name.into())]));
    let sum = Expr::Arithmetic(crate::expr::Arithmetic::Add, path("a"), path("b"));
    Template::Expr(sum)
        .render(&Pair(a, b), &mut Budget::default())
        .ok()
}

/// Names the children of a fan-out whose results are too large to pass inline.
pub(super) fn manifest(entries: Vec<Map<String, Value>>) -> Value {
    json!({ "children_of": entries })
}
