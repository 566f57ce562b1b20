//! Pure questions about a graph: what comes before what, and what may be skipped.

use std::collections::{BTreeMap, BTreeSet};

use super::targets::Role;

/// The edges of a graph whose nodes are numbers.
#[derive(Debug, Default)]
pub(super) struct Edges {
    after: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// Edges of a conditional that only a branch takes: number of the branch, target.
    branches: Vec<BTreeMap<usize, Vec<usize>>>,
    /// Targets that do not depend on a branch.
    always: Vec<Vec<usize>>,
    /// Nodes of which one is enough.
    any_of: Vec<Vec<usize>>,
    /// Nodes that must all be done.
    all_of: Vec<Vec<usize>>,
    conditional: BTreeSet<usize>,
}

impl Edges {
    pub(super) fn new(count: usize) -> Self {
        Self {
            after: vec![Vec::new(); count],
            before: vec![Vec::new(); count],
            branches: vec![BTreeMap::new(); count],
            always: vec![Vec::new(); count],
            any_of: vec![Vec::new(); count],
            all_of: vec![Vec::new(); count],
            conditional: BTreeSet::new(),
        }
    }

    /// Adds what a node says about another one.
    pub(super) fn add(&mut self, owner: usize, named: usize, role: Role) {
        let (from, to) = match role {
            Role::Next | Role::Branch(_) => (owner, named),
            Role::AllOf | Role::AnyOf => (named, owner),
        };
        push(&mut self.after, from, to);
        push(&mut self.before, to, from);
        match role {
            Role::Branch(index) => {
                if let Some(branches) = self.branches.get_mut(from) {
                    branches.entry(index).or_default().push(to);
                }
            }
            Role::Next | Role::AllOf | Role::AnyOf => push(&mut self.always, from, to),
        }
        match role {
            Role::AnyOf => push(&mut self.any_of, to, from),
            Role::Next | Role::Branch(_) | Role::AllOf => push(&mut self.all_of, to, from),
        }
    }

    /// Marks a node that is skipped when its own condition does not hold.
    pub(super) fn may_skip(&mut self, node: usize, conditional: bool) {
        if conditional {
            self.conditional.insert(node);
        }
    }

    /// Whether some node may be skipped at all.
    pub(super) fn has_choices(&self) -> bool {
        let branches = self.branches.iter().any(|branches| !branches.is_empty());
        branches || !self.conditional.is_empty()
    }

    /// Whether some node waits for any one of several.
    pub(super) fn has_any_of(&self) -> bool {
        self.any_of.iter().any(|list| !list.is_empty())
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.after.len()
    }

    pub(super) fn after(&self, node: usize) -> &[usize] {
        at(&self.after, node)
    }

    pub(super) fn before(&self, node: usize) -> &[usize] {
        at(&self.before, node)
    }

    /// Whether `reader` may run although `read`, which comes before it, was skipped.
    ///
    /// Exact: a way to choose branches and conditions is looked for by which the start leads to the
    /// reader and not to the node that it reads. `order` has successors before predecessors.
    pub(super) fn runs_without(
        &self,
        read: usize,
        reader: Option<usize>,
        start: usize,
        order: &[usize],
    ) -> bool {
        let mut avoids = vec![false; self.after.len()];
        let mut reaches = vec![false; self.after.len()];
        for &node in order {
            if node == read {
                // Its own condition may not hold; nothing is reached through it then.
                if let Some(avoids) = avoids.get_mut(node) {
                    *avoids = self.conditional.contains(&node);
                }
                continue;
            }
            let good = |to: &usize| avoids.get(*to).copied().unwrap_or_default();
            let hit = |to: &usize| reaches.get(*to).copied().unwrap_or_default();
            let always = at(&self.always, node);
            let all_good = always.iter().all(good);
            let any_hit = always.iter().any(hit);
            let (can_avoid, can_reach) = match self.branches.get(node) {
                Some(branches) if !branches.is_empty() => {
                    let mut open = branches
                        .values()
                        .filter(|to| all_good && to.iter().all(good));
                    let reach = open.clone().any(|to| any_hit || to.iter().any(hit));
                    (open.next().is_some(), reach)
                }
                _ => (all_good, all_good && any_hit),
            };
            // Without a reader (the result of the job) it is enough that the start avoids the node.
            let is_reader = reader.is_none_or(|reader| reader == node);
            if let Some(avoids) = avoids.get_mut(node) {
                *avoids = can_avoid || self.conditional.contains(&node);
            }
            if let Some(reaches) = reaches.get_mut(node) {
                *reaches = can_avoid && is_reader || can_reach;
            }
        }
        reaches.get(start).copied().unwrap_or_default()
    }

    /// Whether `reader` always waits until `read` is done or skipped. `order` as above.
    pub(super) fn waits_for(&self, read: usize, reader: usize, order: &[usize]) -> bool {
        let mut waits = vec![false; self.after.len()];
        for &node in order.iter().rev() {
            let done =
                |from: &usize| *from == read || waits.get(*from).copied().unwrap_or_default();
            let any_of = at(&self.any_of, node);
            let any = !any_of.is_empty() && any_of.iter().all(done);
            let all = at(&self.all_of, node).iter().any(done);
            if let Some(waits) = waits.get_mut(node) {
                *waits = any || all;
            }
        }
        waits.get(reader).copied().unwrap_or_default()
    }
}

fn push(lists: &mut [Vec<usize>], at: usize, value: usize) {
    if let Some(list) = lists.get_mut(at) {
        list.push(value);
    }
}

fn at(lists: &[Vec<usize>], index: usize) -> &[usize] {
    lists.get(index).map(Vec::as_slice).unwrap_or_default()
}

/// For each node, all nodes before it: one bit each.
pub(super) struct Ancestors {
    bits: Vec<Vec<u64>>,
    /// All nodes, successors before predecessors.
    pub(super) order: Vec<usize>,
}

impl Ancestors {
    pub(super) fn new(edges: &Edges, parts: &[Vec<usize>]) -> Self {
        let words = edges.after.len().div_ceil(64);
        let mut bits = vec![vec![0_u64; words]; edges.after.len()];
        for part in parts.iter().rev() {
            let mut sum = vec![0_u64; words];
            for &member in part {
                for &before in edges.before(member) {
                    let known = bits.get(before).cloned().unwrap_or_default();
                    sum.iter_mut()
                        .zip(known)
                        .for_each(|(sum, word)| *sum |= word);
                    set(&mut sum, before);
                }
            }
            for &member in part {
                if let Some(bits) = bits.get_mut(member) {
                    bits.clone_from(&sum);
                }
            }
        }
        let order = parts.iter().flatten().copied().collect();
        Self { bits, order }
    }

    pub(super) fn contains(&self, node: usize, ancestor: usize) -> bool {
        let word = self.bits.get(node).and_then(|bits| bits.get(ancestor / 64));
        word.is_some_and(|word| word & (1 << (ancestor % 64)) != 0)
    }
}

fn set(bits: &mut [u64], index: usize) {
    if let Some(word) = bits.get_mut(index / 64) {
        *word |= 1 << (index % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::circles::components;
    use super::*;

    fn edges(count: usize, list: &[(usize, usize, Role)]) -> Edges {
        let mut edges = Edges::new(count);
        for (owner, named, role) in list {
            edges.add(*owner, *named, *role);
        }
        edges
    }

    fn order(edges: &Edges) -> Vec<usize> {
        components(edges).into_iter().flatten().collect()
    }

    #[test]
    fn a_join_of_both_branches_always_runs() {
        // 0 -> 1; 1 chooses 2 or 3; both lead to 4; 0 leads to 5 as well; 5 and 4 lead to 6.
        let e = edges(
            7,
            &[
                (0, 1, Role::Next),
                (0, 5, Role::Next),
                (1, 2, Role::Branch(0)),
                (1, 3, Role::Branch(1)),
                (2, 4, Role::Next),
                (3, 4, Role::Next),
                (4, 6, Role::Next),
                (5, 6, Role::Next),
            ],
        );
        let order = order(&e);
        assert!(!e.runs_without(4, Some(6), 0, &order));
        assert!(e.runs_without(2, Some(4), 0, &order));
        assert!(e.runs_without(2, Some(6), 0, &order));
        assert!(e.runs_without(3, None, 0, &order));
        assert!(!e.runs_without(4, None, 0, &order));
        assert!(!e.runs_without(1, Some(2), 0, &order));
    }

    #[test]
    fn any_of_does_not_wait_for_each() {
        let e = edges(
            5,
            &[
                (0, 1, Role::Next),
                (0, 2, Role::Next),
                (3, 1, Role::AnyOf),
                (3, 2, Role::AnyOf),
                (4, 3, Role::AllOf),
            ],
        );
        let order = order(&e);
        assert!(!e.waits_for(1, 3, &order));
        assert!(!e.waits_for(1, 4, &order));
        assert!(e.waits_for(0, 4, &order));
        assert!(e.waits_for(3, 4, &order));
    }
}
