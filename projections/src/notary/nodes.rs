//! Hashes of any part of the tree, from the subtrees that are kept and small blocks of leaves.
//!
//! What it answers is only as good as the database: whoever uses it compares with something signed.

use domain::event::Hash;
use domain::event::tree::{Compact, Place, Range, join};
use sqlx::PgPool;

use crate::Error;
use crate::store::archives;
use crate::store::tree::{self, LEVELS};

/// Leaves below one kept subtree.
const BLOCK: u64 = 1 << LEVELS;

/// Reads nodes of the tree as it was at one size.
pub(crate) struct Nodes<'a> {
    pool: &'a PgPool,
    size: u64,
    /// The leaves that were read last: proofs ask for neighbours.
    block: Option<(u64, Vec<Hash>)>,
}

impl<'a> Nodes<'a> {
    pub(crate) fn new(pool: &'a PgPool, size: u64) -> Self {
        Self {
            pool,
            size,
            block: None,
        }
    }

    /// The hashes of ranges.
    pub(crate) async fn of_ranges(&mut self, ranges: &[Range]) -> Result<Vec<Hash>, Error> {
        let mut hashes = Vec::with_capacity(ranges.len());
        for range in ranges {
            hashes.push(join(&self.of_places(&range.pieces()).await?));
        }
        Ok(hashes)
    }

    /// The hashes of complete subtrees.
    pub(crate) async fn of_places(&mut self, places: &[Place]) -> Result<Vec<Hash>, Error> {
        let mut hashes = Vec::with_capacity(places.len());
        for place in places {
            hashes.push(self.of_place(*place).await?);
        }
        Ok(hashes)
    }

    async fn of_place(&mut self, place: Place) -> Result<Hash, Error> {
        let start = place.index << place.level;
        if place.level < LEVELS {
            let first = start / BLOCK * BLOCK;
            let leaves = self.leaves(first).await?;
            let skip = usize::try_from(start - first).unwrap_or(usize::MAX);
            let ours = leaves.iter().skip(skip).take(1 << place.level);
            return Ok(root_of(ours.map(|leaf| (0, *leaf))));
        }
        let kept = place.level / LEVELS * LEVELS;
        let nodes = self
            .kept(kept, start >> kept, 1 << (place.level - kept))
            .await?;
        Ok(root_of(nodes.into_iter().map(|node| (kept, node))))
    }

    /// Neighbouring subtrees of a level that is kept. One that is missing is made of its leaves.
    async fn kept(&mut self, level: u32, first: u64, count: u64) -> Result<Vec<Hash>, Error> {
        let bound = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let last = first + count - 1;
        let rows = tree::subtrees(self.pool, level, bound(first), bound(last)).await?;
        let mut rows = rows.into_iter().peekable();
        let mut nodes = Vec::new();
        for nth in first..=last {
            let row = rows.next_if(|(found, _)| u64::try_from(*found) == Ok(nth));
            let found: Option<Hash> = row.and_then(|(_, hash)| hash.try_into().ok());
            nodes.push(match found {
                Some(hash) => hash,
                None => self.made(level, nth).await?,
            });
        }
        Ok(nodes)
    }

    async fn made(&mut self, level: u32, nth: u64) -> Result<Hash, Error> {
        let mut whole = Compact::default();
        let blocks = 1_u64 << (level - LEVELS);
        for block in nth * blocks..(nth + 1) * blocks {
            let leaves = self.leaves(block * BLOCK).await?;
            whole.push_node(
                LEVELS,
                root_of(leaves.iter().map(|leaf| (0, *leaf))),
                |_, _| {},
            );
        }
        Ok(whole.root())
    }

    /// The leaves of one block, as far as the tree goes. Those of archived events are not here, but at the edge.
    async fn leaves(&mut self, first: u64) -> Result<&[Hash], Error> {
        match self.read(first).await {
            Err(Error::Gap(pos)) => {
                let floor = archives::floor(self.pool).await?;
                let is_archived = u64::try_from(floor).is_ok_and(|floor| pos <= floor);
                return Err(if is_archived {
                    Error::Archived(floor)
                } else {
                    Error::Gap(pos)
                });
            }
            read => read?,
        }
        Ok(self.block.as_ref().map_or(&[], |(_, leaves)| leaves))
    }

    async fn read(&mut self, first: u64) -> Result<(), Error> {
        if self.block.as_ref().is_none_or(|(at, _)| *at != first) {
            let end = (first + BLOCK).min(self.size);
            let bound = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
            let rows = tree::leaves(self.pool, bound(first + 1), bound(end)).await?;
            let mut leaves = Vec::with_capacity(rows.len());
            for ((pos, leaf), expected) in rows.into_iter().zip(first + 1..) {
                let leaf = Hash::try_from(leaf).ok();
                let leaf = leaf.filter(|_| u64::try_from(pos) == Ok(expected));
                leaves.push(leaf.ok_or(Error::Gap(expected))?);
            }
            if leaves.len() as u64 != end.saturating_sub(first) {
                return Err(Error::Gap(first + leaves.len() as u64 + 1));
            }
            self.block = Some((first, leaves));
        }
        Ok(())
    }
}

/// The root over leaves (level 0) or over subtrees of one level.
fn root_of(nodes: impl Iterator<Item = (u32, Hash)>) -> Hash {
    let mut tree = Compact::default();
    for (level, hash) in nodes {
        match level {
            0 => tree.push(&hash, |_, _| {}),
            _ => tree.push_node(level, hash, |_, _| {}),
        }
    }
    tree.root()
}
