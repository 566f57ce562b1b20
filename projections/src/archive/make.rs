//! From a partition to files, and from the log to the archive.

use std::path::Path;

use futures_util::TryStreamExt as _;
use sqlx::{Connection as _, PgConnection, PgPool};
use tokio::sync::mpsc;

use super::edge::Edge;
use super::file::Writer;
use super::manifest::hash_file;
use super::rows::Rows;
use super::{Archive, ArchiveError, CARRIED, FORMAT, FileEntry, Link, Manifest, Part, blocking};
use crate::store::audit::{self, EventRow};
use crate::store::{archives, partitions, tree};

/// How often a detach is tried while others read; each waits ten seconds at most.
const DETACH_TRIES: u32 = 12;
/// Positions of one statement: long reads hold up whoever tidies the tables.
const READ: i64 = 16_384;
/// The names of the files, here and as the ends of their keys.
const EVENTS: &str = "events.parquet";
const BATCHES: &str = "batches.parquet";

/// What was made, and lies in a folder of this machine.
#[derive(Debug, Clone)]
pub struct Made {
    pub manifest: Manifest,
    pub events: std::path::PathBuf,
    pub batches: std::path::PathBuf,
}

/// Writes a partition to files below `folder`.
pub async fn export(pool: &PgPool, part: &Part, folder: &Path) -> Result<Made, ArchiveError> {
    let (first, last) = (part.first_pos, part.last_pos);
    let (events, batches) = (folder.join(EVENTS), folder.join(BATCHES));
    let of_events = write_events(pool, part, &events).await?;
    let of_batches = write_batches(pool, part, &batches).await?;
    let (_, incarnation) = tree::head(pool).await?;
    let under = Manifest::folder(incarnation, first, last);
    let entry = |(rows, sha256, bytes): (u64, String, u64), name: &str| {
        // The name says the content: what is there already is the same.
        let start: String = sha256.chars().take(16).collect();
        FileEntry {
            key: format!("{under}/{start}-{name}"),
            rows,
            bytes,
            sha256,
        }
    };
    let link = |edge: Edge| Link {
        pos: edge.pos,
        hash: edge.hash.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    let newest = tree::newest(pool, i64::MAX).await?;
    let manifest = Manifest {
        format: FORMAT,
        incarnation,
        first_pos: first,
        last_pos: last,
        events: entry(of_events, EVENTS),
        batches: entry(of_batches, BATCHES),
        chain_before: link(Edge::at(pool, first - 1).await?),
        chain_after: link(Edge::at(pool, last).await?),
        checkpoint: newest
            .filter(|note| note.size >= last)
            .map(|note| note.note),
    };
    Ok(Made {
        manifest,
        events,
        batches,
    })
}

async fn write_events(
    pool: &PgPool,
    part: &Part,
    path: &Path,
) -> Result<(u64, String, u64), ArchiveError> {
    // One group is written while the next one is read.
    let (to, mut from) = mpsc::channel::<Rows>(1);
    let target = path.to_owned();
    let writing = tokio::spawn(blocking(move || {
        let mut writer = Writer::events(&target)?;
        let mut count = 0;
        while let Some(rows) = from.blocking_recv() {
            count += rows.len() as u64;
            writer.put_events(&rows)?;
        }
        writer.finish()?;
        let (sha256, bytes) = hash_file(&target)?;
        Ok((count, sha256, bytes))
    }));
    let mut rows = Rows::default();
    let mut next = part.first_pos;
    let mut db = pool.acquire().await?;
    while next <= part.last_pos {
        let upto = (next + READ - 1).min(part.last_pos);
        let mut found = audit::events(&mut db, next, upto);
        while let Some(row) = found.try_next().await? {
            rows.push(&EventRow::of(&row)?);
            if rows.is_full() && to.send(std::mem::take(&mut rows)).await.is_err() {
                break;
            }
        }
        next = upto + 1;
    }
    if rows.len() > 0 {
        // If nobody takes it, the writer says why.
        let _ = to.send(rows).await;
    }
    drop(to);
    writing.await.map_err(|_| ArchiveError::Stopped)?
}

async fn write_batches(
    pool: &PgPool,
    part: &Part,
    path: &Path,
) -> Result<(u64, String, u64), ArchiveError> {
    // The one that goes on from the partition before belongs to both.
    let mut from = part.first_pos;
    if let Some(open) = archives::batch_over(pool, part.first_pos - 1).await? {
        from = open.first_pos;
    }
    let target = path.to_owned();
    let mut writer = blocking(move || Writer::batches(&target)).await?;
    let mut count = 0;
    while from <= part.last_pos {
        let upto = (from + READ - 1).min(part.last_pos);
        let rows = audit::batches(pool, from, upto).await?;
        count += rows.len() as u64;
        writer = blocking(move || {
            if !rows.is_empty() {
                writer.put_batches(&rows)?;
            }
            Ok(writer)
        })
        .await?;
        from = upto + 1;
    }
    let target = path.to_owned();
    let (sha256, bytes) = blocking(move || {
        writer.finish()?;
        hash_file(&target)
    })
    .await?;
    Ok((count, sha256, bytes))
}

/// Says that a partition is archived. What came back from the store must have been checked before.
pub async fn record(
    pool: &PgPool,
    part: &Part,
    manifest: &Manifest,
    place: (&str, &str),
    cutoff: i64,
) -> Result<(), ArchiveError> {
    let (store, key) = place;
    let bytes = manifest.bytes()?;
    let archive = Archive {
        first_pos: part.first_pos,
        last_pos: part.last_pos,
        store: store.to_owned(),
        manifest: key.to_owned(),
        manifest_sha256: domain::json::sha256_hex(&bytes),
        partition: part.name.clone(),
        bytes: i64::try_from(manifest.events.bytes + manifest.batches.bytes).unwrap_or(i64::MAX),
        // The database says these.
        archived_at: chrono::DateTime::UNIX_EPOCH,
        archived_by: String::new(),
        dropped_at: None,
        restored_at: None,
    };
    super::tree::keep(pool, part).await?;
    let mut db = pool.acquire().await?;
    let mut tx = db.begin().await?;
    let range = (part.first_pos, part.last_pos);
    if !archives::standing(&mut tx, range, cutoff, CARRIED, 1)
        .await?
        .is_empty()
    {
        return Err(ArchiveError::Alive);
    }
    archives::record(&mut tx, &archive).await?;
    tx.commit().await?;
    Ok(())
}

/// Brings the tables to where the archives say they are: detached, put aside, and gone if it is asked for. Answers how
/// many were removed.
pub async fn finish(pool: &PgPool, drop_tables: bool) -> Result<u32, ArchiveError> {
    let mut removed = 0;
    let mut db = pool.acquire().await?;
    for archive in archives::all(pool).await? {
        if archive.restored_at.is_some() || archive.dropped_at.is_some() {
            continue;
        }
        detach(pool, &mut db, &archive.partition).await?;
        bus::fault::point("archive-detached");
        if partitions::schema_of(pool, &archive.partition)
            .await?
            .as_deref()
            == Some("dagapp")
        {
            partitions::put_aside(&mut db, &archive.partition).await?;
        }
        if drop_tables {
            let mut tx = db.begin().await?;
            partitions::remove(&mut tx, &archive.partition).await?;
            archives::dropped(&mut tx, archive.first_pos).await?;
            tx.commit().await?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Detaches a partition that is attached, or about to be detached. Whoever reads it is waited for, within limits.
async fn detach(pool: &PgPool, db: &mut PgConnection, name: &str) -> Result<(), ArchiveError> {
    let mut tries = 1;
    loop {
        let parts = partitions::attached(pool).await?;
        let Some(part) = parts.iter().find(|part| part.name == name) else {
            return Ok(());
        };
        match partitions::detach(db, part).await {
            Ok(()) => return Ok(()),
            Err(error) if tries < DETACH_TRIES && is_locked(&error) => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether somebody else had a lock for too long.
fn is_locked(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(code.as_deref(), Some("55P03" | "40P01"))
}
