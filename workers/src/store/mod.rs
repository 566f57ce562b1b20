//! The object store: outputs, artifacts and logs, by key below one root.
//!
//! Keys are relative (`results/...`): what the log remembers stays true when the root moves. Whoever
//! reads something that the log vouches for compares its SHA-256.

mod open;
#[cfg(test)]
mod tests;
mod vsi;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use domain::failure::{Failure, FailureClass};
use domain::job::event::Blob;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, WriteMultipart};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt as _};

pub use open::open;

/// Pieces in which files travel.
const CHUNK_BYTES: usize = 8 * 1024 * 1024;

/// A place for things that are too large for events.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Where it lies, when it is a directory of this machine.
    local: Option<PathBuf>,
    /// Its address without secrets, without a slash at the end.
    base: String,
    /// Where blobs lie in accounts: the one of this store.
    account: Option<String>,
    vsi: Option<vsi::Vsi>,
}

/// The content of an object, in order.
pub(crate) type Pieces = BoxStream<'static, Result<Bytes, StoreError>>;

/// Why something could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("`{url}` is not an object store: {reason}")]
    Address { url: String, reason: String },
    #[error("`{key}` cannot be the key of an object: {reason}")]
    Key { key: String, reason: String },
    #[error("the object `{key}` does not exist")]
    Missing { key: String },
    #[error("the object `{key}` has SHA-256 {found}, expected {expected}")]
    Changed {
        key: String,
        expected: String,
        found: String,
    },
    #[error("the object store failed at `{key}`: {reason}")]
    Failed { key: String, reason: String },
    #[error("cannot read `{path}`: {reason}")]
    File { path: String, reason: String },
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (class, code) = match &error {
            StoreError::Missing { .. } => (FailureClass::Permanent, "object_missing"),
            StoreError::Changed { .. } => (FailureClass::Permanent, "object_changed"),
            StoreError::Key { .. } | StoreError::Address { .. } => {
                (FailureClass::Contract, "object_key")
            }
            StoreError::File { .. } => (FailureClass::Permanent, "file"),
            StoreError::Failed { .. } => (FailureClass::Transient, "object_store"),
        };
        Self::new(class, code, &error.to_string())
    }
}

impl Store {
    /// Stores `content` under `key`, replacing what was there.
    pub async fn put(&self, key: &str, content: Bytes) -> Result<Blob, StoreError> {
        let blob = Blob {
            uri: key.to_owned(),
            sha256: domain::json::sha256_hex(&content),
            size_bytes: u64::try_from(content.len()).unwrap_or(u64::MAX),
        };
        let path = self.path(key)?;
        let put = self.inner.put(&path, content.into()).await;
        put.map_err(|error| failed(key, &error))?;
        Ok(blob)
    }

    /// Stores a file under `key`, piece by piece.
    pub async fn put_file(&self, key: &str, file: &FilePath) -> Result<Blob, StoreError> {
        let unreadable = |error: std::io::Error| StoreError::File {
            path: file.display().to_string(),
            reason: error.to_string(),
        };
        let path = self.path(key)?;
        let mut source = tokio::fs::File::open(file).await.map_err(unreadable)?;
        let upload = self.inner.put_multipart(&path).await;
        let mut upload = WriteMultipart::new_with_chunk_size(
            upload.map_err(|error| failed(key, &error))?,
            CHUNK_BYTES,
        );
        let mut hash = Sha256::new();
        let mut size_bytes: u64 = 0;
        let mut piece = vec![0; 1024 * 1024];
        loop {
            let read = source.read(&mut piece).await.map_err(unreadable)?;
            let Some(content) = piece.get(..read).filter(|content| !content.is_empty()) else {
                break;
            };
            hash.update(content);
            size_bytes = size_bytes.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
            let room = upload.wait_for_capacity(4).await;
            room.map_err(|error| failed(key, &error))?;
            upload.write(content);
        }
        let done = upload.finish().await;
        done.map_err(|error| failed(key, &error))?;
        Ok(Blob {
            uri: key.to_owned(),
            sha256: hex(&hash.finalize()),
            size_bytes,
        })
    }

    /// Takes over a finished file as the object: renamed if it lies on the same file system, so that the object is
    /// there completely or not at all.
    pub async fn move_in(&self, key: &str, file: &FilePath) -> Result<(), StoreError> {
        let Some(target) = self.local_path(key) else {
            return self.put_file(key, file).await.map(drop);
        };
        let unreadable = |error: std::io::Error| StoreError::Failed {
            key: key.to_owned(),
            reason: error.to_string(),
        };
        let folder = target.parent().unwrap_or(&target);
        tokio::fs::create_dir_all(folder)
            .await
            .map_err(unreadable)?;
        let renamed = tokio::fs::rename(file, &target).await;
        match renamed {
            Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
                self.put_file(key, file).await.map(drop)
            }
            Err(error) => Err(unreadable(error)),
            Ok(()) => {
                // The name must outlive a power cut as the content does.
                let folder = tokio::fs::File::open(folder).await.map_err(unreadable)?;
                folder.sync_all().await.map_err(unreadable)
            }
        }
    }

    /// Copies the object into a new file, piece by piece.
    pub async fn download(&self, key: &str, file: &FilePath) -> Result<(), StoreError> {
        let unwritable = |error: std::io::Error| StoreError::File {
            path: file.file_name().unwrap_or_default().display().to_string(),
            reason: error.to_string(),
        };
        let got = self.inner.get(&self.path(key)?).await;
        let mut pieces = got.map_err(|error| failed(key, &error))?.into_stream();
        let mut target = tokio::fs::File::create(file).await.map_err(unwritable)?;
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| failed(key, &error))?;
            target.write_all(&piece).await.map_err(unwritable)?;
        }
        target.sync_all().await.map_err(unwritable)
    }

    /// The address of the object, for other programs.
    #[must_use]
    pub fn href(&self, key: &str) -> String {
        format!("{}/{key}", self.base)
    }

    /// The directory that it is, when it is one of this machine.
    #[must_use]
    pub fn root(&self) -> Option<&FilePath> {
        self.local.as_deref()
    }

    /// The account that it lies in, if it lies in one.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// GDAL's own name for the object and the settings that it needs to read there, if it can.
    #[must_use]
    pub fn in_place(&self, key: &str) -> Option<(PathBuf, BTreeMap<String, String>)> {
        let (vsi, path) = (self.vsi.as_ref()?, self.path(key).ok()?);
        let name = PathBuf::from(format!("{}/{path}", vsi.root));
        Some((name, vsi.settings.clone()))
    }

    /// Reads the whole object.
    pub async fn get(&self, key: &str) -> Result<Bytes, StoreError> {
        let got = self.inner.get(&self.path(key)?).await;
        let got = got.map_err(|error| failed(key, &error))?;
        got.bytes().await.map_err(|error| failed(key, &error))
    }

    /// Reads the whole object and refuses it when it is not what the log vouches for.
    pub async fn get_checked(&self, key: &str, sha256: &str) -> Result<Bytes, StoreError> {
        let content = self.get(key).await?;
        expect(key, sha256, domain::json::sha256_hex(&content))?;
        Ok(content)
    }

    /// Size of the object, or nothing when it does not exist.
    pub async fn head(&self, key: &str) -> Result<Option<u64>, StoreError> {
        match self.inner.head(&self.path(key)?).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(key, &error)),
        }
    }

    /// Whether the object exists.
    pub async fn exists(&self, key: &str) -> Result<bool, StoreError> {
        Ok(self.head(key).await?.is_some())
    }

    /// Reads the object piece by piece and gives its SHA-256.
    pub async fn sha256(&self, key: &str) -> Result<String, StoreError> {
        let got = self.inner.get(&self.path(key)?).await;
        let mut pieces = got.map_err(|error| failed(key, &error))?.into_stream();
        let mut hash = Sha256::new();
        while let Some(piece) = pieces.next().await {
            hash.update(piece.map_err(|error| failed(key, &error))?);
        }
        Ok(hex(&hash.finalize()))
    }

    /// Size and content of the object, piece by piece; nothing if it does not exist.
    pub(crate) async fn stream(&self, key: &str) -> Result<Option<(u64, Pieces)>, StoreError> {
        let got = match self.inner.get(&self.path(key)?).await {
            Ok(got) => got,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failed(key, &error)),
        };
        let (bytes, name) = (got.meta.size, key.to_owned());
        let pieces = got.into_stream();
        let pieces = pieces.map(move |piece| piece.map_err(|error| failed(&name, &error)));
        Ok(Some((bytes, pieces.boxed())))
    }

    /// Fails unless the object exists and has this SHA-256, if one is known.
    pub async fn verify(&self, key: &str, sha256: Option<&str>) -> Result<(), StoreError> {
        match sha256 {
            Some(expected) => expect(key, expected, self.sha256(key).await?),
            None if self.exists(key).await? => Ok(()),
            None => Err(StoreError::Missing {
                key: key.to_owned(),
            }),
        }
    }

    /// Removes the object; that it does not exist is no error.
    pub async fn delete(&self, key: &str) -> Result<(), StoreError> {
        match self.inner.delete(&self.path(key)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(key, &error)),
        }
    }

    /// The file that holds the object, when the store is a directory of this machine.
    #[must_use]
    pub fn local_path(&self, key: &str) -> Option<PathBuf> {
        let path = self.path(key).ok()?;
        self.local.as_ref().map(|root| root.join(path.as_ref()))
    }

    fn path(&self, key: &str) -> Result<Path, StoreError> {
        let key_error = |error: object_store::path::Error| StoreError::Key {
            key: key.chars().take(200).collect(),
            reason: error.to_string(),
        };
        let parsed = Path::parse(key).map_err(key_error)?;
        let mut path = self.prefix.clone();
        for part in parsed.parts() {
            path = path.join(part);
        }
        Ok(path)
    }
}

fn expect(key: &str, expected: &str, found: String) -> Result<(), StoreError> {
    if expected == found {
        return Ok(());
    }
    Err(StoreError::Changed {
        key: key.to_owned(),
        expected: expected.to_owned(),
        found,
    })
}

fn failed(key: &str, error: &object_store::Error) -> StoreError {
    let key = key.to_owned();
    match error {
        object_store::Error::NotFound { .. } => StoreError::Missing { key },
        other => StoreError::Failed {
            key,
            reason: other.to_string(),
        },
    }
}

pub(crate) fn hex(digest: &[u8]) -> String {
    let mut text = String::with_capacity(digest.len() * 2);
    for byte in digest {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// SHA-256 and size of a file; blocks.
pub(crate) fn hash_file(file: &FilePath) -> std::io::Result<(String, u64)> {
    let mut source = std::fs::File::open(file)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1024 * 1024];
    let mut bytes = 0_u64;
    loop {
        let read = std::io::Read::read(&mut source, &mut piece)?;
        let Some(content) = piece.get(..read).filter(|content| !content.is_empty()) else {
            return Ok((hex(&hash.finalize()), bytes));
        };
        hash.update(content);
        bytes += u64::try_from(read).unwrap_or(u64::MAX);
    }
}
