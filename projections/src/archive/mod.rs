//! Retention: the oldest partitions of the log as files in the object store, and back (ADR 0027, 0028).
//!
//! This module makes, checks and reads files of this machine, and changes what the database says of them; where files are
//! kept is the business of whoever calls it. Every step can be done again, and a range is said to be archived only when
//! what came back from the store was the same as what the chain of the log says.

mod check;
mod edge;
mod file;
mod make;
mod manifest;
mod plan;
mod restore;
mod rows;
mod set;
mod tree;

use std::path::{Path, PathBuf};

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};

pub use crate::store::archives::Archive;
pub use crate::store::partitions::Part;
pub use check::{Checked, check};
pub(crate) use edge::Edge;
pub use make::{Made, export, finish, record};
pub use manifest::{FORMAT, FileEntry, Link, Manifest};
pub use plan::{Cutoff, Held, Plan, candidates, cutoff, plan, wait_for_readers};
pub use restore::{is_kept, restore_from, restore_kept};
pub use set::ArchiveSet;

use crate::store::{archives, partitions};

/// Streams that never end are carried if they are of these kinds.
pub const CARRIED: &[&str] = &["asset", "platform", "workflow"];

/// Why something could not be archived, checked or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    #[error(transparent)]
    Read(#[from] crate::Error),
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the file is no archive: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    #[error("the manifest cannot be used: {0}")]
    Manifest(String),
    /// The archive is not what the log says.
    #[error("the archive of positions {first} to {last} was changed: {why}")]
    Changed { first: i64, last: i64, why: String },
    #[error("streams of the range are not at their end any more")]
    Alive,
    #[error("only the owner of the schema may take the log apart, and this role is not")]
    NotOwner,
    #[error("another process archives or restores")]
    Busy,
    #[error("positions {0} to {1} are not archived")]
    NotArchived(i64, i64),
    #[error("only the newest archive can be restored, which begins at position {0}")]
    NotNewest(i64),
    #[error("the work was interrupted")]
    Stopped,
}

impl From<sqlx::Error> for ArchiveError {
    fn from(error: sqlx::Error) -> Self {
        Self::Read(error.into())
    }
}

impl ArchiveError {
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }
}

/// All ranges that were ever archived, in order.
pub async fn list(pool: &PgPool) -> Result<Vec<Archive>, ArchiveError> {
    Ok(archives::all(pool).await?)
}

/// The last position that is archived; 0 if none is.
pub async fn floor(pool: &PgPool) -> Result<i64, ArchiveError> {
    Ok(archives::floor(pool).await?)
}

/// Held by whoever archives or restores; nobody else can.
#[derive(Debug)]
pub struct Turn {
    _lock: PoolConnection<Postgres>,
}

/// Takes the turn.
pub async fn turn(pool: &PgPool) -> Result<Turn, ArchiveError> {
    let mut lock = pool.acquire().await?;
    if !partitions::is_owner(&mut lock).await? {
        return Err(ArchiveError::NotOwner);
    }
    if !partitions::lock(&mut lock).await? {
        return Err(ArchiveError::Busy);
    }
    // It ends with the connection, which is not given back.
    lock.close_on_drop();
    Ok(Turn { _lock: lock })
}

/// Work that would hold up others.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(ArchiveError::Stopped),
    }
}
