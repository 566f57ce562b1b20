//! Circles of a graph: finding them, and naming one in order.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::order::Edges;

/// The strongly connected parts (Tarjan), successors first. A part of several nodes is a circle.
pub(super) fn components(edges: &Edges) -> Vec<Vec<usize>> {
    let count = edges.len();
    let mut search = Search {
        edges,
        seen: vec![None; count],
        low: vec![0; count],
        stack: Vec::new(),
        on_stack: vec![false; count],
        parts: Vec::new(),
        clock: 0,
    };
    for node in 0..count {
        search.visit(node);
    }
    search.parts
}

struct Search<'e> {
    edges: &'e Edges,
    seen: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    on_stack: Vec<bool>,
    parts: Vec<Vec<usize>>,
    clock: usize,
}

impl Search<'_> {
    /// Depth first, with its own stack of (node, next edge to look at).
    fn visit(&mut self, root: usize) {
        let mut work = Vec::new();
        if self.enter(root) {
            work.push((root, 0));
        }
        while let Some((node, edge)) = work.pop() {
            match self.edges.after(node).get(edge).copied() {
                Some(to) => {
                    work.push((node, edge + 1));
                    if self.enter(to) {
                        work.push((to, 0));
                    } else if self.on_stack.get(to).copied().unwrap_or_default() {
                        let seen = self.seen.get(to).copied().flatten();
                        self.lower(node, seen.unwrap_or_default());
                    }
                }
                None => {
                    self.leave(node);
                    let low = self.low.get(node).copied().unwrap_or_default();
                    if let Some((parent, _)) = work.last() {
                        self.lower(*parent, low);
                    }
                }
            }
        }
    }

    fn enter(&mut self, node: usize) -> bool {
        match self.seen.get_mut(node) {
            Some(seen @ None) => *seen = Some(self.clock),
            _ => return false,
        }
        if let (Some(low), Some(on)) = (self.low.get_mut(node), self.on_stack.get_mut(node)) {
            (*low, *on) = (self.clock, true);
        }
        self.stack.push(node);
        self.clock += 1;
        true
    }

    fn lower(&mut self, node: usize, value: usize) {
        if let Some(low) = self.low.get_mut(node) {
            *low = (*low).min(value);
        }
    }

    fn leave(&mut self, node: usize) {
        if self.seen.get(node).copied().flatten() != self.low.get(node).copied() {
            return;
        }
        let mut part = Vec::new();
        while let Some(member) = self.stack.pop() {
            if let Some(on) = self.on_stack.get_mut(member) {
                *on = false;
            }
            part.push(member);
            if member == node {
                break;
            }
        }
        self.parts.push(part);
    }
}

/// The shortest circle through `first` within a part, without the return.
pub(super) fn circle(edges: &Edges, first: usize, part: &BTreeSet<usize>) -> Vec<usize> {
    let mut from: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = VecDeque::from([first]);
    while let Some(node) = queue.pop_front() {
        for &to in edges.after(node).iter().filter(|to| part.contains(to)) {
            if to == first {
                let mut circle = vec![node];
                let mut here = node;
                while let Some(&before) = from.get(&here).filter(|_| here != first) {
                    circle.push(before);
                    here = before;
                }
                circle.reverse();
                return circle;
            }
            if let Entry::Vacant(entry) = from.entry(to) {
                entry.insert(node);
                queue.push_back(to);
            }
        }
    }
    vec![first]
}

#[cfg(test)]
mod tests {
    use super::super::order::Ancestors;
    use super::super::targets::Role;
    use super::*;

    #[test]
    fn circles_are_found_once_and_in_order() {
        let mut e = Edges::new(4);
        for (from, to) in [(0, 1), (1, 2), (2, 1), (2, 3)] {
            e.add(from, to, Role::Next);
        }
        let parts: Vec<_> = components(&e).into_iter().filter(|p| p.len() > 1).collect();
        assert_eq!(parts.len(), 1);
        let part = parts[0].iter().copied().collect();
        assert_eq!(circle(&e, 1, &part), [1, 2]);
        let ancestors = Ancestors::new(&e, &components(&e));
        assert!(ancestors.contains(1, 1) && ancestors.contains(3, 0) && !ancestors.contains(0, 1));
    }
}
