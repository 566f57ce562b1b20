//! Whether events are those that the log chained: each gives its leaf, the leaves give the batches.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use domain::event::{BatchHasher, Hash};
use sqlx::PgPool;

use super::edge::{self, Edge};
use super::file::Reader;
use super::manifest::{Manifest, hash_file};
use super::{ArchiveError, blocking};
use crate::store::audit::{self, BatchRow, EventRow};

/// What was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    pub events: u64,
    pub batches: u64,
}

/// Checks the file of the events of an archive against its manifest, and against the chain of the log.
pub async fn check(
    pool: &PgPool,
    manifest: &Manifest,
    events: &Path,
) -> Result<Checked, ArchiveError> {
    let (first, last) = (manifest.first_pos, manifest.last_pos);
    let changed = |why: String| ArchiveError::Changed { first, last, why };
    let path = events.to_owned();
    let (sha256, bytes) = blocking(move || hash_file(&path)).await?;
    if (sha256.as_str(), bytes) != (manifest.events.sha256.as_str(), manifest.events.bytes) {
        let expected = &manifest.events.sha256;
        return Err(changed(format!(
            "the file {} has SHA-256 {sha256}, expected {expected}",
            manifest.events.key
        )));
    }
    let path = events.to_owned();
    let reader = Arc::new(blocking(move || Reader::open(&path)).await?);
    let mut proof = Proof::begin(pool, first, last).await?;
    for nth in 0..reader.groups() {
        let from = Arc::clone(&reader);
        let rows = blocking(move || from.group(nth)).await?;
        proof.expect(pool, rows.len()).await?;
        let (back, found) = blocking(move || {
            let mut found = Ok(());
            for at in 0..rows.len() {
                found = match rows.get(at) {
                    Some(event) => proof.take(&event),
                    None => Err(format!("row {at} of group {nth} is no event")),
                };
                if found.is_err() {
                    break;
                }
            }
            Ok((proof, found))
        })
        .await?;
        proof = back;
        found.map_err(changed)?;
    }
    proof.finish(pool).await
}

/// A range of events on its way to be proven.
pub(super) struct Proof {
    first: i64,
    last: i64,
    next: i64,
    previous: Hash,
    open: Option<(BatchRow, BatchHasher)>,
    waiting: VecDeque<BatchRow>,
    /// Batches are known up to here.
    known_to: i64,
    checked: Checked,
}

impl Proof {
    pub(super) async fn begin(pool: &PgPool, first: i64, last: i64) -> Result<Self, ArchiveError> {
        let edge = Edge::at(pool, first - 1).await?;
        Ok(Self {
            first,
            last,
            next: first,
            previous: edge.hash,
            open: edge.open,
            waiting: VecDeque::new(),
            known_to: first - 1,
            checked: Checked::default(),
        })
    }

    /// Gets ready for so many events.
    pub(super) async fn expect(&mut self, pool: &PgPool, count: usize) -> Result<(), ArchiveError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let upto = self.next.saturating_add(count).min(self.last + 1) - 1;
        if upto > self.known_to {
            let more = audit::batches(pool, self.known_to + 1, upto).await?;
            self.waiting.extend(more);
            self.known_to = upto;
        }
        Ok(())
    }

    pub(super) fn take(&mut self, event: &EventRow<'_>) -> Result<(), String> {
        let pos = event.pos;
        if pos != self.next || pos > self.last {
            let (next, last) = (self.next, self.last);
            return Err(format!(
                "position {pos} stands where {next} of {last} should be"
            ));
        }
        let leaf = event.computed_leaf();
        if leaf != event.leaf {
            return Err(format!(
                "the event at position {pos} does not give its leaf"
            ));
        }
        let (row, mut hasher) = match self.open.take() {
            Some(open) => open,
            None => {
                let row = self.waiting.pop_front().filter(|row| row.first_pos == pos);
                let row = row.ok_or_else(|| format!("no batch begins at position {pos}"))?;
                let hasher = edge::begin(&self.previous, &row);
                (row, hasher)
            }
        };
        if row.recorded_at != event.recorded_at {
            return Err(format!(
                "the event at position {pos} has another time than its batch"
            ));
        }
        hasher.push(&leaf);
        if pos == row.last_pos {
            self.close(&row, hasher)?;
        } else {
            self.open = Some((row, hasher));
        }
        self.next += 1;
        self.checked.events += 1;
        Ok(())
    }

    fn close(&mut self, row: &BatchRow, hasher: BatchHasher) -> Result<(), String> {
        let hash = hasher.finish();
        if row.hash != hash {
            let (first, last) = (row.first_pos, row.last_pos);
            return Err(format!(
                "positions {first} to {last} are not the batch that was chained"
            ));
        }
        self.previous = hash;
        self.checked.batches += 1;
        Ok(())
    }

    /// The end: what is missing of the last batch is in the log, or at the edge of this archive.
    pub(super) async fn finish(mut self, pool: &PgPool) -> Result<Checked, ArchiveError> {
        let (first, last) = (self.first, self.last);
        let changed = |why: String| ArchiveError::Changed { first, last, why };
        if self.next != last + 1 {
            return Err(changed(format!("it ends before position {}", self.next)));
        }
        if let Some((row, mut hasher)) = self.open.take() {
            for leaf in edge::leaves(pool, last + 1, row.last_pos).await? {
                hasher.push(&leaf);
            }
            self.close(&row, hasher).map_err(changed)?;
        }
        Ok(self.checked)
    }
}
