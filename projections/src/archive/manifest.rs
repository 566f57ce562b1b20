//! What an archive is: its files, their hashes, and how it fits to the log.

use std::path::Path;

use domain::json::sha256_hex;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ArchiveError;

/// The one format that there is.
pub const FORMAT: u32 = 1;
/// A manifest is small; more is none of ours.
const BYTES_MAX: usize = 1024 * 1024;

/// The content of `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    pub incarnation: Uuid,
    pub first_pos: i64,
    pub last_pos: i64,
    pub events: FileEntry,
    pub batches: FileEntry,
    /// The end of the last batch before the first event, and of the last one that ends here; batches need not end
    /// where archives do.
    pub chain_before: Link,
    pub chain_after: Link,
    /// The newest checkpoint that covers it, as it was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its key in the store.
    pub key: String,
    pub rows: u64,
    pub bytes: u64,
    pub sha256: String,
}

/// A hash of the chain of batches, in hex, after a position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub pos: i64,
    pub hash: String,
}

impl Manifest {
    /// The bytes as they are stored.
    pub fn bytes(&self) -> Result<Vec<u8>, ArchiveError> {
        serde_json::to_vec_pretty(self).map_err(|error| ArchiveError::Manifest(error.to_string()))
    }

    /// Reads one that has the right hash.
    pub fn parse(bytes: &[u8], sha256: &str) -> Result<Self, ArchiveError> {
        let refused = |why: &str| ArchiveError::Manifest(why.to_owned());
        if bytes.len() > BYTES_MAX {
            return Err(refused("it is too long"));
        }
        if sha256_hex(bytes) != sha256 {
            return Err(refused("it has another hash than the database says"));
        }
        let read: Self =
            serde_json::from_slice(bytes).map_err(|error| refused(&error.to_string()))?;
        if read.format != FORMAT {
            return Err(refused("it is of a format that this build does not know"));
        }
        Ok(read)
    }

    /// Where everything of this range is kept.
    #[must_use]
    pub fn folder(incarnation: Uuid, first_pos: i64, last_pos: i64) -> String {
        format!("archive/{incarnation}/{first_pos}-{last_pos}")
    }
}

/// SHA-256 and size of a file; blocks.
pub(super) fn hash_file(path: &Path) -> Result<(String, u64), ArchiveError> {
    use std::io::Read as _;

    use sha2::{Digest as _, Sha256};
    let mut file = std::fs::File::open(path).map_err(ArchiveError::file(path))?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1024 * 1024];
    let mut bytes = 0_u64;
    loop {
        let read = file.read(&mut piece).map_err(ArchiveError::file(path))?;
        let Some(content) = piece.get(..read).filter(|content| !content.is_empty()) else {
            let hex = hash
                .finalize()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            return Ok((hex, bytes));
        };
        hash.update(content);
        bytes += u64::try_from(read).unwrap_or(u64::MAX);
    }
}
