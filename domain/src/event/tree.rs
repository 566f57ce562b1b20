//! The tree of RFC 6962 over the leaves of the log: which hashes prove something, and whether they do.
//!
//! It names ranges of leaves and never fetches one: whoever keeps hashes (the database, a test) resolves a
//! [`Range`] by its [`Range::pieces`]. Leaf `i` of the tree is the event at position `i + 1`.

use sha2::{Digest, Sha256};

use super::chain::Hash;

#[cfg(test)]
mod tests;

/// The node of a leaf. Another first byte than that of inner nodes, so that neither can pass for the other.
#[must_use]
pub fn leaf_node(data: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([0]);
    hasher.update(data);
    hasher.finalize().into()
}

/// The node above two others.
#[must_use]
pub fn inner_node(left: &Hash, right: &Hash) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([1]);
    hasher.update(left);
    hasher.update(right);
    hasher.finalize().into()
}

/// A complete subtree: `2^level` leaves from `index * 2^level` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub level: u32,
    pub index: u64,
}

/// Leaves `start..end`, as they occur in proofs: the start is a multiple of a power of two that holds them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    pub end: u64,
}

impl Range {
    /// The complete subtrees that it is made of, from left to right; [`join`] makes its hash of theirs.
    #[must_use]
    pub fn pieces(self) -> Vec<Place> {
        let length = self.end.saturating_sub(self.start);
        let mut at = self.start;
        let levels = (0..u64::BITS).rev();
        let mut place = |level: u32| {
            let size = 1_u64.checked_shl(level)?;
            (length & size != 0).then(|| {
                let index = at >> level;
                at += size;
                Place { level, index }
            })
        };
        levels.filter_map(&mut place).collect()
    }

    fn contains(self, leaf: u64) -> bool {
        (self.start..self.end).contains(&leaf)
    }

    /// Both parts, as RFC 6962 cuts: the left one is the largest power of two that leaves something.
    fn cut(self) -> Option<(Self, Self)> {
        let length = self.end.checked_sub(self.start).filter(|n| *n > 1)?;
        let middle = self.start + (1 << (length - 1).ilog2());
        let (start, end) = (self.start, self.end);
        let left = Self { start, end: middle };
        Some((left, Self { start: middle, end }))
    }
}

/// The hash of neighbouring subtrees, each smaller than the one before; that of nothing is the hash of nothing.
#[must_use]
pub fn join(pieces: &[Hash]) -> Hash {
    let mut from_right = pieces.iter().rev();
    let Some(last) = from_right.next() else {
        return Sha256::digest([]).into();
    };
    from_right.fold(*last, |right, left| inner_node(left, &right))
}

/// A tree that grows: the complete subtrees on its edge, at most one per level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compact {
    size: u64,
    peaks: Vec<Hash>,
}

impl Compact {
    /// A tree of this size, of the hashes of its [`Compact::places`].
    #[must_use]
    pub fn resume(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        (peaks.len() == size.count_ones() as usize).then_some(Self { size, peaks })
    }

    /// The subtrees that a tree of this size is made of.
    #[must_use]
    pub fn places(size: u64) -> Vec<Place> {
        let all = Range {
            start: 0,
            end: size,
        };
        all.pieces()
    }

    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds the next leaf, and tells of each subtree that it completes.
    pub fn push(&mut self, leaf: &Hash, complete: impl FnMut(Place, Hash)) {
        self.push_node(0, leaf_node(leaf), complete);
    }

    /// Adds a complete subtree at once. The size must be a multiple of its own: else the tree would be another.
    pub fn push_node(
        &mut self,
        mut level: u32,
        mut node: Hash,
        mut complete: impl FnMut(Place, Hash),
    ) {
        debug_assert!(self.size.is_multiple_of(1 << level), "subtrees are aligned");
        let mut index = self.size >> level;
        complete(Place { level, index }, node);
        while index & 1 == 1
            && let Some(left) = self.peaks.pop()
        {
            node = inner_node(&left, &node);
            (level, index) = (level + 1, index >> 1);
            complete(Place { level, index }, node);
        }
        self.peaks.push(node);
        // What was joined had the bits below; the sum is the same as adding the subtree's own size.
        self.size = (index + 1) << level;
    }

    /// The hash of the whole tree.
    #[must_use]
    pub fn root(&self) -> Hash {
        join(&self.peaks)
    }
}

/// What proves that a leaf is in a tree, from the leaf up.
#[must_use]
pub fn inclusion(leaf: u64, size: u64) -> Option<Vec<Range>> {
    let mut rest = Range {
        start: 0,
        end: size,
    };
    if !rest.contains(leaf) {
        return None;
    }
    let mut path = Vec::new();
    while let Some((left, right)) = rest.cut() {
        let (inside, beside) = match left.contains(leaf) {
            true => (left, right),
            false => (right, left),
        };
        path.push(beside);
        rest = inside;
    }
    path.reverse();
    Some(path)
}

/// The root that a leaf and its path lead to, if the path has the right length.
#[must_use]
pub fn root_of_inclusion(leaf: u64, size: u64, node: &Hash, path: &[Hash]) -> Option<Hash> {
    let mut walk = Walk::new(leaf, size.checked_sub(1).filter(|last| leaf <= *last)?);
    let mut root = *node;
    for beside in path {
        root = match walk.step()? {
            Side::Left => inner_node(beside, &root),
            Side::Right => inner_node(&root, beside),
        };
    }
    walk.is_done().then_some(root)
}

/// What proves that a tree begins with an older one.
#[must_use]
pub fn consistency(old: u64, new: u64) -> Option<Vec<Range>> {
    if old > new {
        return None;
    }
    let mut path = Vec::new();
    if old == 0 || old == new {
        return Some(path);
    }
    let mut rest = Range { start: 0, end: new };
    while rest.end != old
        && let Some((left, right)) = rest.cut()
    {
        let (inside, beside) = match old <= left.end {
            true => (left, right),
            false => (right, left),
        };
        path.push(beside);
        rest = inside;
    }
    // The old tree itself is known to whoever checks.
    if rest.start != 0 {
        path.push(rest);
    }
    path.reverse();
    Some(path)
}

/// Whether the path proves that the new tree begins with the old one.
#[must_use]
pub fn is_consistent(old: (u64, &Hash), new: (u64, &Hash), path: &[Hash]) -> bool {
    let ((old, old_root), (new, new_root)) = (old, new);
    if old > new {
        return false;
    }
    if old == 0 || old == new {
        let nothing = join(&[]);
        let known = if old == 0 { &nothing } else { new_root };
        return path.is_empty() && old_root == known;
    }
    let Some((mut was, mut is, rest)) = (match old.is_power_of_two() {
        true => Some((*old_root, *old_root, path)),
        false => path.split_first().map(|(seed, rest)| (*seed, *seed, rest)),
    }) else {
        return false;
    };
    let mut walk = Walk::new(old - 1, new - 1);
    walk.skip_right_edges();
    for beside in rest {
        match walk.step() {
            None => return false,
            Some(Side::Left) => {
                was = inner_node(beside, &was);
                is = inner_node(beside, &is);
            }
            Some(Side::Right) => is = inner_node(&is, beside),
        }
    }
    walk.is_done() && was == *old_root && is == *new_root
}

/// Where the next hash of a path goes.
enum Side {
    Left,
    Right,
}

/// The way up from a leaf, beside the way up from the last leaf.
struct Walk {
    at: u64,
    last: u64,
}

impl Walk {
    fn new(at: u64, last: u64) -> Self {
        Self { at, last }
    }

    fn up(&mut self) {
        self.at >>= 1;
        self.last >>= 1;
    }

    fn skip_right_edges(&mut self) {
        while self.at & 1 == 1 {
            self.up();
        }
    }

    fn step(&mut self) -> Option<Side> {
        if self.last == 0 {
            return None;
        }
        if self.at & 1 == 0 && self.at != self.last {
            self.up();
            return Some(Side::Right);
        }
        while self.at & 1 == 0 && self.at != 0 {
            self.up();
        }
        self.up();
        Some(Side::Left)
    }

    fn is_done(&self) -> bool {
        self.last == 0
    }
}

/// What proves that many leaves are in a tree, from left to right: every hash once, however many leaves it serves.
///
/// The leaves must be in order and inside the tree.
#[must_use]
pub fn cover(leaves: &[u64], size: u64) -> Vec<Range> {
    let mut beside = Vec::new();
    let mut open = vec![Range {
        start: 0,
        end: size,
    }];
    while let Some(range) = open.pop() {
        let from = leaves.partition_point(|leaf| *leaf < range.start);
        let has_any = leaves.get(from).is_some_and(|leaf| range.contains(*leaf));
        match range.cut() {
            _ if !has_any => beside.extend((range.end > range.start).then_some(range)),
            Some((left, right)) => open.extend([right, left]),
            None => {}
        }
    }
    beside
}

/// The root that leaves (by their place, in order) and the hashes of their [`cover`] lead to, if all fit.
#[must_use]
pub fn root_of_cover(size: u64, leaves: &[(u64, Hash)], path: &[Hash]) -> Option<Hash> {
    let is_ordered = leaves.is_sorted_by(|(a, _), (b, _)| a < b);
    let is_inside = leaves.last().is_some_and(|(last, _)| *last < size);
    if !is_ordered || !is_inside {
        return None;
    }
    let mut path = path.iter();
    let all = Range {
        start: 0,
        end: size,
    };
    let root = covered(all, leaves, &mut path)?;
    path.next().is_none().then_some(root)
}

/// As deep as the tree is high: 64 at most.
fn covered(
    range: Range,
    leaves: &[(u64, Hash)],
    path: &mut std::slice::Iter<'_, Hash>,
) -> Option<Hash> {
    if leaves.is_empty() {
        return path.next().copied();
    }
    let Some((left, right)) = range.cut() else {
        return leaves.first().map(|(_, node)| *node);
    };
    let (ours, theirs) = leaves.split_at(leaves.partition_point(|(leaf, _)| *leaf < right.start));
    let left = covered(left, ours, path)?;
    Some(inner_node(&left, &covered(right, theirs, path)?))
}
