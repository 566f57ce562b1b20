//! Archives at hand, for whoever reads the log through them.

use std::path::Path;
use std::sync::Arc;

use super::file::Reader;
use super::rows::Rows;
use super::{ArchiveError, Manifest};
use crate::store::audit::EventRow;

/// Files of archives on this machine, in the order of their positions.
#[derive(Clone, Default)]
pub struct ArchiveSet {
    parts: Vec<(Manifest, Arc<Reader>)>,
}

impl std::fmt::Debug for ArchiveSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ranges = self.parts.iter().map(|(m, _)| (m.first_pos, m.last_pos));
        f.debug_list().entries(ranges).finish()
    }
}

impl ArchiveSet {
    /// Adds the events of an archive; they must come in order. Blocks.
    pub fn add(&mut self, manifest: Manifest, events: &Path) -> Result<(), ArchiveError> {
        let reader = Reader::open(events)?;
        self.parts.push((manifest, Arc::new(reader)));
        Ok(())
    }

    /// How far they go without a gap from the first position on.
    #[must_use]
    pub fn upto(&self) -> i64 {
        self.parts.iter().fold(0, |upto, (part, _)| {
            if part.first_pos == upto + 1 {
                part.last_pos
            } else {
                upto
            }
        })
    }

    /// Hands out the events of positions `first` to `last` that are here, in order; stops when it is told to. Blocks.
    pub(crate) fn each(
        &self,
        first: i64,
        last: i64,
        mut take: impl FnMut(&EventRow<'_>) -> bool,
    ) -> Result<(), ArchiveError> {
        for (part, reader) in &self.parts {
            let (from, upto) = (first.max(part.first_pos), last.min(part.last_pos));
            if from > upto {
                continue;
            }
            let row = u64::try_from(from - part.first_pos).unwrap_or(0);
            for nth in reader.group_of(row)..reader.groups() {
                let rows = reader.group(nth)?;
                if rows.pos.first().is_some_and(|pos| *pos > upto) {
                    break;
                }
                if !some(&rows, from, upto, &mut take)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

fn some(
    rows: &Rows,
    from: i64,
    upto: i64,
    take: &mut impl FnMut(&EventRow<'_>) -> bool,
) -> Result<bool, ArchiveError> {
    for nth in 0..rows.len() {
        let Some(event) = rows.get(nth) else {
            let why = "a row of an archive is no event".to_owned();
            return Err(parquet::errors::ParquetError::General(why).into());
        };
        let is_wanted = event.pos >= from && event.pos <= upto;
        if is_wanted && !take(&event) {
            return Ok(false);
        }
    }
    Ok(true)
}
