//! The object store as a shelf of archives, and the room where their files lie on their way.

use std::path::{Path, PathBuf};

use domain::json::sha256_hex;
use projections::archive::{Archive, FileEntry, Made, Manifest};
use sqlx::PgPool;
use workers::Store;

use super::args::FilesArgs;
use crate::exit::{Exit, Stop};
use crate::roles::stack::Stack;

/// Where archives are kept.
pub(crate) struct Shelf {
    store: Store,
    room: PathBuf,
}

impl Shelf {
    /// Opens the store, and makes an empty room.
    pub(crate) fn open(stack: &Stack, files: &FilesArgs) -> anyhow::Result<Self> {
        let store = stack.store(&files.store)?;
        let scratch = stack.scratch(files.scratch.as_deref());
        let room = scratch.join(format!("archive-{}", std::process::id()));
        let made = std::fs::create_dir_all(&room);
        made.map_err(|error| Stop::failed(format!("{}: {error}", room.display()), ""))?;
        Ok(Self { store, room })
    }

    /// The folder for files.
    pub(crate) fn room(&self) -> &Path {
        &self.room
    }

    /// Stores the files of an archive; the manifest comes last. Answers its key.
    pub(super) async fn put(&self, made: &Made) -> anyhow::Result<String> {
        let manifest = &made.manifest;
        self.put_file(&manifest.events, &made.events).await?;
        bus::fault::point("archive-uploaded");
        self.put_file(&manifest.batches, &made.batches).await?;
        let bytes = manifest.bytes()?;
        let start: String = sha256_hex(&bytes).chars().take(16).collect();
        let folder = Manifest::folder(manifest.incarnation, manifest.first_pos, manifest.last_pos);
        let key = format!("{folder}/{start}-manifest.json");
        self.store.put(&key, bytes.into()).await.map_err(unusable)?;
        Ok(key)
    }

    async fn put_file(&self, entry: &FileEntry, file: &Path) -> anyhow::Result<()> {
        // Its name says its content; whether that is so is looked at when it is read back.
        if self.store.head(&entry.key).await.map_err(unusable)? == Some(entry.bytes) {
            return Ok(());
        }
        let blob = self
            .store
            .put_file(&entry.key, file)
            .await
            .map_err(unusable)?;
        match blob.sha256 == entry.sha256 {
            true => Ok(()),
            false => Err(Stop::failed("the file changed while it was stored", "")),
        }
    }

    /// Fetches the events of an archive into the room.
    pub(crate) async fn fetch(
        &self,
        key: &str,
        sha256: &str,
    ) -> anyhow::Result<(Manifest, PathBuf)> {
        let size = self.store.head(key).await.map_err(unusable)?;
        if size.is_some_and(|size| size > 1024 * 1024) {
            return Err(Stop::with(
                Exit::NotVerified,
                format!("{key} is no manifest"),
                "",
            ));
        }
        let bytes = self.store.get(key).await.map_err(unusable)?;
        let manifest = Manifest::parse(&bytes, sha256).map_err(super::failed)?;
        let file = self.room.join(format!("{}.parquet", manifest.first_pos));
        let events = &manifest.events.key;
        self.store.download(events, &file).await.map_err(unusable)?;
        Ok((manifest, file))
    }

    /// The same for an archive that the database knows.
    pub(crate) async fn fetch_archive(&self, of: &Archive) -> anyhow::Result<(Manifest, PathBuf)> {
        self.fetch(&of.manifest, &of.manifest_sha256).await
    }

    /// The address of the store, for people.
    pub(super) fn address(&self) -> String {
        self.store.href("").trim_end_matches('/').to_owned()
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.room) {
            tracing::warn!(%error, "files on their way could not be removed");
        }
    }
}

/// The archives that the log has now, in order.
pub(crate) async fn archived(pool: &PgPool) -> anyhow::Result<Vec<Archive>> {
    let all = projections::archive::list(pool)
        .await
        .map_err(super::failed)?;
    Ok(all
        .into_iter()
        .filter(|one| one.restored_at.is_none())
        .collect())
}

fn unusable(error: workers::store::StoreError) -> anyhow::Error {
    use workers::store::StoreError;
    match &error {
        StoreError::Missing { .. } => Stop::not_found(error.to_string(), "strata archive list"),
        StoreError::Changed { .. } => Stop::with(Exit::NotVerified, error.to_string(), ""),
        _ => Stop::unreachable(error.to_string(), "strata archive --help"),
    }
}
