//! Audit: whether the log is what was written and signed, and proofs of single jobs.
//!
//! It reads and never writes. Ranges of positions are read side by side in short statements and put together in
//! order, so that memory does not depend on the log, and what is named is the first position that is wrong.

mod chain;
mod chunk;
mod finding;
mod proof;

use domain::event::checkpoint::{PublicKey, Signed};
use domain::event::tree::{Compact, join};
use domain::event::{BatchHasher, Hash};
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use sqlx::PgPool;

use crate::Error;
use crate::archive::{ArchiveSet, Edge};
use crate::notary::nodes::Nodes;
use crate::run::projector_pool;
use crate::store::audit::{self, BatchRow, Head};
use crate::store::tree;
use chain::Chain;
pub use finding::{Finding, What};
pub use proof::{newest_checkpoint, prove};

/// Positions of one range; a multiple of the leaves below a kept subtree.
const CHUNK: u64 = 8_192;

/// How to verify.
#[derive(Debug, Clone)]
pub struct Options {
    /// Begin with this position, or a little before it, where a signed checkpoint vouches for what was before.
    pub since: u64,
    /// Ranges that are read side by side, each on a connection of its own.
    pub at_once: usize,
    /// Keys whose checkpoints are good. With none, signatures are not checked.
    pub keys: Vec<PublicKey>,
    /// Checkpoints that were kept outside of the database; read before this begins.
    pub known: Vec<Signed>,
    /// Archives to read what is archived from. If they do not reach as far, none of it is read.
    pub archive: ArchiveSet,
}

/// What was checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The positions that were read.
    pub from_pos: u64,
    pub upto_pos: u64,
    pub events: u64,
    pub batches: u64,
    pub checkpoints: u64,
    /// Whether the signatures of checkpoints were checked.
    pub signatures: bool,
    /// The last position that a good checkpoint vouches for.
    pub signed_upto: u64,
    /// How far the log is archived; and whether these positions were read, from the archives at hand.
    pub archived_upto: u64,
    pub archive_read: bool,
    /// The first thing that is wrong.
    pub finding: Option<Finding>,
}

/// Where reading begins, and what is known there.
struct Start {
    size: u64,
    tree: Compact,
    chain: Hash,
    recorded_at_micros: i64,
    /// A batch that goes on behind it.
    open: Option<(BatchRow, BatchHasher)>,
    /// Whether a good checkpoint says all this.
    is_signed: bool,
}

/// Verifies the log as it is now; `progress` hears how many positions are done, and of how many.
pub async fn verify(
    pool: &PgPool,
    options: &Options,
    mut progress: impl FnMut(u64, u64),
) -> Result<Report, Error> {
    let head = audit::head(pool).await?;
    let upto = u64::try_from(head.pos).unwrap_or(0);
    let floor = head.floor;
    let archive_read = floor > 0 && options.archive.upto() >= floor;
    let archived = u64::try_from(floor).unwrap_or(0);
    let mut start = start(pool, options, upto).await?;
    if start.size < archived && !archive_read {
        start = behind_archives(pool, floor).await?;
    }
    let from = start.size;
    let mut chain = Chain::new(start, &head, options);
    let ranges = ranges(from, upto);
    let total = upto - from;
    let at_once = u32::try_from(options.at_once.clamp(1, 32)).unwrap_or(1);
    // Rows are found by key, whatever the planner thinks of so many streams.
    let readers = projector_pool(pool, at_once);
    let checked = ranges.map(|(first, last)| {
        let (pool, keys) = (readers.clone(), options.keys.clone());
        let archive = options.archive.clone();
        // A task each, so that hashing uses all processors.
        tokio::spawn(async move {
            let source = chunk::Source {
                pool: &pool,
                archive,
                floor,
            };
            chunk::check(source, first, last, &keys).await
        })
    });
    let mut checked = stream::iter(checked).buffered(options.at_once.clamp(1, 32));
    let mut finding = None;
    while let Some(chunk) = checked.next().await {
        let chunk =
            chunk.map_err(|error| Error::Database(sqlx::Error::Protocol(error.to_string())))??;
        let last = chunk.last;
        finding = chain.take(chunk);
        progress(last - from, total);
        if finding.is_some() {
            break;
        }
    }
    drop(checked);
    readers.close().await;
    if finding.is_none() {
        finding = chain.finish(&head);
    }
    if finding.is_none() && (from == 0 || from == archived) {
        finding = without_events(pool, &head, chain.streams, from == 0).await?;
    }
    Ok(Report {
        from_pos: from + 1,
        upto_pos: upto,
        events: chain.events,
        batches: chain.batches,
        checkpoints: chain.checkpoints,
        signatures: !options.keys.is_empty(),
        signed_upto: chain.vouched,
        archived_upto: archived,
        archive_read,
        finding,
    })
}

/// Positions in ranges that end where blocks of the tree end.
fn ranges(from: u64, upto: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut next = from;
    std::iter::from_fn(move || {
        let first = next + 1;
        let last = ((next / CHUNK + 1) * CHUNK).min(upto);
        next = last;
        (first <= last).then_some((first, last))
    })
}

/// At the beginning, or at the last good checkpoint before `since` whose tree can be gone on with.
async fn start(pool: &PgPool, options: &Options, upto: u64) -> Result<Start, Error> {
    let beginning = Start {
        size: 0,
        tree: Compact::default(),
        chain: [0; 32],
        recorded_at_micros: i64::MIN,
        open: None,
        is_signed: false,
    };
    let before = i64::try_from(options.since.min(upto + 1)).unwrap_or(i64::MAX) - 1;
    let Some(row) = tree::newest(pool, before).await? else {
        return Ok(beginning);
    };
    let Ok(signed) = Signed::parse(&row.note) else {
        return Ok(beginning);
    };
    let is_good = options.keys.iter().any(|key| signed.verify(key).is_ok());
    let found = signed.checkpoint;
    if !is_good || i64::try_from(found.size) != Ok(row.size) {
        return Ok(beginning);
    }
    let mut nodes = Nodes::new(pool, found.size);
    let Ok(peaks) = nodes.of_places(&Compact::places(found.size)).await else {
        return Ok(beginning);
    };
    match Compact::resume(found.size, peaks.clone()) {
        Some(tree) if join(&peaks) == found.root => Ok(Start {
            size: found.size,
            tree,
            chain: found.chain,
            recorded_at_micros: found.recorded_at_micros,
            open: None,
            is_signed: true,
        }),
        _ => Ok(beginning),
    }
}

/// Behind what is archived, with what is kept of it here: hashes of the tree, and the chain. They are vouched for when a
/// signed checkpoint comes that fits to them.
async fn behind_archives(pool: &PgPool, floor: i64) -> Result<Start, Error> {
    let size = u64::try_from(floor).unwrap_or(0);
    let edge = Edge::at(pool, floor).await?;
    let peaks = Nodes::new(pool, size)
        .of_places(&Compact::places(size))
        .await?;
    Ok(Start {
        size,
        tree: Compact::resume(size, peaks).ok_or(Error::Gap(size))?,
        chain: edge.hash,
        recorded_at_micros: edge.recorded_at_micros,
        open: edge.open,
        is_signed: false,
    })
}

/// A row of `streams` that no event stands behind; looked for only if there are more rows than first events.
async fn without_events(
    pool: &PgPool,
    head: &Head,
    seen: u64,
    is_all: bool,
) -> Result<Option<Finding>, Error> {
    let expected = if is_all {
        head.streams
    } else {
        head.live_streams
    };
    if u64::try_from(expected) == Ok(seen) {
        return Ok(None);
    }
    let mut after = String::new();
    while let Some((empty, pos, last)) =
        audit::empty_stream(pool, &after, head.floor, head.pos).await?
    {
        if let (Some(stream), Some(pos)) = (empty, pos) {
            let message =
                format!("`streams` has a row of {stream}, and the log has no event of it");
            return Ok(Some(Finding::at(pos, What::Stream, message)));
        }
        after = last;
    }
    Ok(None)
}
