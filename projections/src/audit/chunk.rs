//! One range of positions: everything that can be checked without knowing what is before it.

use std::collections::HashMap;

use domain::event::Hash;
use domain::event::checkpoint::{PublicKey, Signed};
use domain::event::tree::{Compact, Place};
use futures_util::TryStreamExt as _;
use sqlx::PgPool;

use super::finding::{Finding, What};
use crate::Error;
use crate::archive::ArchiveSet;
use crate::store::audit::{self, BatchRow, EventRow, Part};
use crate::store::tree::{self, LEVELS};

/// Leaves below one subtree that is kept.
pub(super) const BLOCK: u64 = 1 << LEVELS;

/// A range that was read.
pub(super) struct Chunk {
    pub(super) first: u64,
    pub(super) last: u64,
    /// Leaves as they were computed, with the time of their events; up to the finding, if there is one.
    pub(super) leaves: Vec<(Hash, i64)>,
    /// The node over each whole block of leaves, and what the database keeps for it.
    pub(super) blocks: HashMap<u64, (Hash, Option<Vec<u8>>)>,
    /// Kept nodes of higher levels that end where this range ends.
    pub(super) higher: HashMap<Place, Vec<u8>>,
    pub(super) batches: Vec<BatchRow>,
    pub(super) checkpoints: Vec<(u64, Result<Signed, String>)>,
    /// Streams that begin here.
    pub(super) streams: u64,
    pub(super) finding: Option<Finding>,
    /// To be told only if nothing else is wrong.
    pub(super) loose: Option<Finding>,
}

/// Where events are: up to the floor in archives, behind it in the database.
pub(super) struct Source<'a> {
    pub(super) pool: &'a PgPool,
    pub(super) archive: ArchiveSet,
    pub(super) floor: i64,
}

/// Reads and checks positions `first` to `last`.
pub(super) async fn check(
    source: Source<'_>,
    first: u64,
    last: u64,
    keys: &[PublicKey],
) -> Result<Chunk, Error> {
    let bound = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let (from, upto) = (bound(first), bound(last));
    let mut fold = archived(&source, from, upto).await?;
    let mut db = source.pool.acquire().await?;
    if fold.finding.is_none() && upto > source.floor {
        let mut rows = audit::events(&mut db, from.max(source.floor + 1), upto);
        while let Some(row) = rows.try_next().await? {
            fold.take(&EventRow::of(&row)?);
            if fold.finding.is_some() {
                break;
            }
        }
    }
    if fold.finding.is_none() && fold.next <= upto {
        fold.find(
            fold.next,
            What::Position,
            "there is no event at this position",
        );
    }
    let parts: Vec<Part> = fold.parts.into_values().collect();
    let mut loose = None;
    if let Some(broken) = audit::broken_streams(&mut db, &parts, source.floor).await? {
        let message = format!("{}: {}", broken.stream_id, broken.fault);
        let found = Finding::at(broken.pos, What::Stream, message);
        if broken.is_loose {
            loose = Some(found);
        } else if fold.finding.as_ref().is_none_or(|f| f.pos > found.pos) {
            fold.finding = Some(found);
        }
    }
    let batches = audit::batches(&mut *db, from, upto).await?;
    let notes = tree::checkpoints(&mut *db, from, upto).await?;
    let read = |note: &tree::Note| {
        let size = u64::try_from(note.size).unwrap_or(0);
        (size, good(note, size, keys))
    };
    let kept = tree::subtrees(
        &mut *db,
        LEVELS,
        bound((first - 1) / BLOCK),
        bound(last / BLOCK),
    );
    let kept: HashMap<i64, Vec<u8>> = kept.await?.into_iter().collect();
    let mut higher = HashMap::new();
    let levels = (2 * LEVELS..u64::BITS).step_by(LEVELS as usize);
    for level in levels.take_while(|level| last.is_multiple_of(1 << level)) {
        let index = (last >> level) - 1;
        let kept = tree::subtrees(&mut *db, level, bound(index), bound(index)).await?;
        let place = Place { level, index };
        higher.extend(kept.into_iter().map(|(_, hash)| (place, hash)));
    }
    Ok(Chunk {
        first,
        last,
        blocks: blocks(first, &fold.leaves, kept),
        leaves: fold.leaves,
        higher,
        batches,
        checkpoints: notes.iter().map(read).collect(),
        streams: fold.streams,
        finding: fold.finding,
        loose,
    })
}

/// The part of a range that is in archives.
async fn archived(source: &Source<'_>, from: i64, upto: i64) -> Result<Fold, Error> {
    let mut fold = Fold::new(from);
    let upto = upto.min(source.floor);
    if from > upto {
        return Ok(fold);
    }
    let archive = source.archive.clone();
    let read = tokio::task::spawn_blocking(move || {
        let read = archive.each(from, upto, |event| {
            fold.take(event);
            fold.finding.is_none()
        });
        read.map(|()| fold)
    });
    let failed = |error: &dyn std::error::Error| Error::Archive(error.to_string());
    let mut fold = read
        .await
        .map_err(|error| failed(&error))?
        .map_err(|error| failed(&error))?;
    if fold.finding.is_none() && fold.next <= upto {
        fold.find(
            fold.next,
            What::Position,
            "the archive has no event at this position",
        );
    }
    Ok(fold)
}

/// A checkpoint that says what its row says, signed by a key that is good.
fn good(note: &tree::Note, size: u64, keys: &[PublicKey]) -> Result<Signed, String> {
    let signed = Signed::parse(&note.note).map_err(|error| error.to_string())?;
    if signed.checkpoint.size != size {
        let found = signed.checkpoint.size;
        return Err(format!("it is a checkpoint of {found} events"));
    }
    let mut refused = None;
    for key in keys {
        match signed.verify(key) {
            Ok(()) => return Ok(signed),
            Err(error) => refused = Some(error.to_string()),
        }
    }
    refused.map_or(Ok(signed), Err)
}

fn blocks(
    first: u64,
    leaves: &[(Hash, i64)],
    mut kept: HashMap<i64, Vec<u8>>,
) -> HashMap<u64, (Hash, Option<Vec<u8>>)> {
    let start = first - 1;
    let skip = usize::try_from(start.next_multiple_of(BLOCK) - start).unwrap_or(usize::MAX);
    let whole = leaves.get(skip..).unwrap_or_default();
    let whole = whole.chunks_exact(usize::try_from(BLOCK).unwrap_or(usize::MAX));
    let of = |(block, nth): (&[(Hash, i64)], u64)| {
        let mut tree = Compact::default();
        for (leaf, _) in block {
            tree.push(leaf, |_: Place, _| {});
        }
        let stored = i64::try_from(nth).ok().and_then(|nth| kept.remove(&nth));
        (nth, (tree.root(), stored))
    };
    whole.zip(start.div_ceil(BLOCK)..).map(of).collect()
}

/// Events one by one.
struct Fold {
    next: i64,
    leaves: Vec<(Hash, i64)>,
    parts: HashMap<String, Part>,
    streams: u64,
    finding: Option<Finding>,
}

impl Fold {
    fn new(next: i64) -> Self {
        Self {
            next,
            leaves: Vec::new(),
            parts: HashMap::new(),
            streams: 0,
            finding: None,
        }
    }

    fn find(&mut self, pos: i64, what: What, message: &str) {
        self.finding = Some(Finding::at(pos, what, message.to_owned()));
    }

    fn take(&mut self, event: &EventRow<'_>) {
        if event.pos != self.next {
            let message = match event.pos < self.next {
                true => "this position is there twice",
                false => "there is no event at this position",
            };
            return self.find(event.pos.min(self.next), What::Position, message);
        }
        let leaf = event.computed_leaf();
        if leaf != event.leaf {
            let (kind, version) = (event.kind, event.version);
            let message = format!(
                "the event is not the one that was written: `{kind}`, version {version} of {}, does not \
                 give its leaf",
                event.stream_id
            );
            return self.find(event.pos, What::Leaf, &message);
        }
        self.of_stream(event);
        if self.finding.is_none() {
            self.leaves
                .push((leaf, event.recorded_at.timestamp_micros()));
            self.next += 1;
        }
    }

    fn of_stream(&mut self, event: &EventRow<'_>) {
        let ends = matches!(event.kind, "job_completed" | "job_failed" | "job_cancelled");
        if event.version == 1 {
            self.streams += 1;
        }
        let Some(part) = self.parts.get_mut(event.stream_id) else {
            let part = Part {
                stream_id: event.stream_id.to_owned(),
                first_version: event.version,
                last_version: event.version,
                first_pos: event.pos,
                last_pos: event.pos,
                ends,
            };
            self.parts.insert(event.stream_id.to_owned(), part);
            return;
        };
        let last = part.last_version;
        part.last_version = event.version;
        part.last_pos = event.pos;
        part.ends |= ends;
        if event.version != last + 1 {
            let (stream, version) = (event.stream_id, event.version);
            let message = format!("{stream}: version {version} comes after version {last}");
            self.find(event.pos, What::Stream, &message);
        }
    }
}
