//! Hashes of the tree over what is archived, which must stay: without a notary nobody has kept them yet.

use domain::event::tree::Compact;
use sqlx::PgPool;

use super::{ArchiveError, Part, edge};
use crate::Error;
use crate::notary::nodes::Nodes;
use crate::store::tree::{self, LEVELS, Subtree};

/// Leaves of one read.
const READ: i64 = 65_536;

/// Keeps the hashes of all whole subtrees that end in a partition, unless they are there.
pub(super) async fn keep(pool: &PgPool, part: &Part) -> Result<(), ArchiveError> {
    let before = part.first_pos - 1;
    let (first, end) = (before >> LEVELS, part.last_pos >> LEVELS);
    let known = tree::subtrees(pool, LEVELS, first, end - 1).await?;
    if i64::try_from(known.len()) == Ok(end - first) {
        return Ok(());
    }
    let size = u64::try_from(before).unwrap_or(0);
    let peaks = Nodes::new(pool, size)
        .of_places(&Compact::places(size))
        .await?;
    let mut grown = Compact::resume(size, peaks).ok_or(Error::Gap(size))?;
    let mut from = part.first_pos;
    while from <= part.last_pos {
        let upto = (from + READ - 1).min(part.last_pos);
        let mut made = Vec::new();
        for leaf in edge::leaves(pool, from, upto).await? {
            grown.push(&leaf, |place, hash| {
                if place.level > 0 && place.level.is_multiple_of(LEVELS) {
                    let (level, nth) = (place.level, place.index);
                    made.push(Subtree { level, nth, hash });
                }
            });
        }
        tree::keep_subtrees(pool, &made).await?;
        from = upto + 1;
    }
    Ok(())
}
