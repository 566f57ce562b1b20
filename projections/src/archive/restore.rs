//! Back from the archive: the newest one first, so that what is archived stays the beginning of the log.

use std::path::Path;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use sqlx::{Connection as _, PgConnection, PgPool};

use super::check::Proof;
use super::file::Reader;
use super::{Archive, ArchiveError, Manifest, blocking, check};
use crate::store::audit::EventRow;
use crate::store::partitions::Events;
use crate::store::{archives, partitions};

/// Events of one look at a table that was kept.
const LOOK: usize = 1_024;

/// Whether the table of an archive is still here.
pub async fn is_kept(pool: &PgPool, archive: &Archive) -> Result<bool, ArchiveError> {
    let here = partitions::schema_of(pool, &archive.partition).await?;
    Ok(archive.dropped_at.is_none() && here.is_some())
}

/// Attaches a table that was kept, if it has what the chain of the log says.
pub async fn restore_kept(pool: &PgPool, archive: &Archive) -> Result<(), ArchiveError> {
    newest(pool, archive).await?;
    let (first, last) = (archive.first_pos, archive.last_pos);
    // It may not even have been detached.
    super::finish(pool, false).await?;
    let mut db = pool.acquire().await?;
    let mut proof = Proof::begin(pool, first, last).await?;
    {
        let mut rows = partitions::rows(&mut db, &archive.partition)?;
        let mut left = 0;
        while let Some(row) = rows.try_next().await? {
            if left == 0 {
                proof.expect(pool, LOOK).await?;
                left = LOOK;
            }
            left -= 1;
            let taken = proof.take(&EventRow::of(&row)?);
            taken.map_err(|why| ArchiveError::Changed { first, last, why })?;
        }
    }
    proof.finish(pool).await?;
    attach(&mut db, archive).await
}

/// Makes the table again from a file that came from the store, and attaches it.
pub async fn restore_from(
    pool: &PgPool,
    archive: &Archive,
    manifest: &Manifest,
    events: &Path,
) -> Result<(), ArchiveError> {
    newest(pool, archive).await?;
    check(pool, manifest, events).await?;
    let name = &archive.partition;
    let mut db = pool.acquire().await?;
    // What a restore that was killed has left.
    partitions::remove(&mut db, name).await?;
    partitions::make(&mut db, name).await?;
    let path = events.to_owned();
    let reader = Arc::new(blocking(move || Reader::open(&path)).await?);
    for nth in 0..reader.groups() {
        let from = Arc::clone(&reader);
        let mut copied = blocking(move || {
            let rows = from.group(nth)?;
            let mut events = Events::default();
            let all = (0..rows.len()).filter_map(|at| rows.get(at));
            all.for_each(|event| events.push(&event));
            Ok(events)
        })
        .await?;
        copied.write(&mut db, name).await?;
        bus::fault::point("archive-copied");
    }
    partitions::finish(&mut db, name).await?;
    attach(&mut db, archive).await
}

async fn attach(db: &mut PgConnection, archive: &Archive) -> Result<(), ArchiveError> {
    let mut tx = db.begin().await?;
    let range = (archive.first_pos, archive.last_pos);
    partitions::attach(&mut tx, &archive.partition, range).await?;
    archives::restored(&mut tx, archive.first_pos).await?;
    tx.commit().await?;
    Ok(())
}

async fn newest(pool: &PgPool, archive: &Archive) -> Result<(), ArchiveError> {
    let all = archives::all(pool).await?;
    let newest = all.into_iter().rfind(|one| one.restored_at.is_none());
    match newest {
        Some(newest) if newest.first_pos == archive.first_pos => Ok(()),
        Some(newest) => Err(ArchiveError::NotNewest(newest.first_pos)),
        None => Err(ArchiveError::NotArchived(
            archive.first_pos,
            archive.last_pos,
        )),
    }
}
