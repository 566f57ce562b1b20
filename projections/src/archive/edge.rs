//! The chain of batches at a position, which may lie in the middle of a batch.

use domain::event::{BatchHasher, Hash};
use sqlx::PgPool;

use crate::Error;
use crate::store::audit::BatchRow;
use crate::store::{archives, tree};

/// What is before a position.
pub(crate) struct Edge {
    /// The end of the last batch that has ended.
    pub(crate) pos: i64,
    pub(crate) hash: Hash,
    pub(crate) recorded_at_micros: i64,
    /// The batch that goes on behind the position, with its leaves up to there.
    pub(crate) open: Option<(BatchRow, BatchHasher)>,
}

impl Edge {
    /// As the database says it.
    pub(crate) async fn at(pool: &PgPool, pos: i64) -> Result<Self, Error> {
        let before = archives::batch_over(pool, pos).await?;
        let ended = before.as_ref().map_or(pos, |open| open.first_pos - 1);
        let last = archives::batch_upto(pool, ended).await?;
        let mut edge = match last {
            None => Self {
                pos: 0,
                hash: [0; 32],
                recorded_at_micros: i64::MIN,
                open: None,
            },
            Some(last) => Self {
                pos: last.last_pos,
                hash: hash(&last)?,
                recorded_at_micros: last.recorded_at.timestamp_micros(),
                open: None,
            },
        };
        if let Some(open) = before {
            let mut hasher = begin(&edge.hash, &open);
            for leaf in leaves(pool, open.first_pos, pos).await? {
                hasher.push(&leaf);
            }
            edge.open = Some((open, hasher));
        }
        Ok(edge)
    }
}

/// A batch of which no leaf was seen yet.
pub(super) fn begin(previous: &Hash, row: &BatchRow) -> BatchHasher {
    let unsigned = |n: i64| u64::try_from(n).unwrap_or(0);
    let (first, last) = (unsigned(row.first_pos), unsigned(row.last_pos));
    let count = (last + 1).saturating_sub(first);
    BatchHasher::new(previous, first, count, row.recorded_at.timestamp_micros())
}

pub(super) fn hash(row: &BatchRow) -> Result<Hash, Error> {
    let gap = |_| Error::Gap(u64::try_from(row.last_pos).unwrap_or(0));
    Hash::try_from(row.hash.as_slice()).map_err(gap)
}

/// All leaves of a range that is here, or at the edge of an archive.
pub(super) async fn leaves(pool: &PgPool, first: i64, last: i64) -> Result<Vec<Hash>, Error> {
    let rows = tree::leaves(pool, first, last).await?;
    let mut leaves = Vec::with_capacity(rows.len());
    for ((pos, leaf), expected) in rows.into_iter().zip(first..) {
        let gap = || Error::Gap(u64::try_from(expected).unwrap_or(0));
        let leaf = Hash::try_from(leaf).ok().filter(|_| pos == expected);
        leaves.push(leaf.ok_or_else(gap)?);
    }
    let wanted = usize::try_from(last + 1 - first).unwrap_or(0);
    match leaves.len() == wanted {
        true => Ok(leaves),
        false => Err(Error::Gap(
            u64::try_from(first).unwrap_or(0) + leaves.len() as u64,
        )),
    }
}
