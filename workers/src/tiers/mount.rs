//! Copies of blobs on the mount, where tasks find them by `local_path`.
//!
//! A copy is written under a name of its run and renamed when it is complete. Whoever writes it holds a lock on it,
//! which is the kernel's: what a killed worker left has none, and goes when the next copy is made beside it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::failure::Failure;

use super::{Place, Tiers, missing, permanent, scratch};
use crate::handler::Context;

/// How names of unfinished copies begin.
const PART: &str = ".part-";
/// An unfinished copy so young may be one that is about to be locked.
const YOUNG: Duration = Duration::from_secs(60);

impl Tiers {
    /// Copies a blob to the mount; its `local_path`, and its size.
    pub async fn to_mount(&self, ctx: &Context, place: &Place) -> Result<(String, u64), Failure> {
        let Some(store) = self.store(place.tier) else {
            return Err(permanent("bad_url", "the source lies on the mount already"));
        };
        let name = format!("{}/{}", place.container, place.name);
        let target = self.mount.join(&name);
        let folder = target.parent().unwrap_or(&self.mount).to_owned();
        let part = Part::begin(&folder, &ctx.run_id().to_string());
        let part = part.map_err(|error| scratch(&error))?;
        let bytes = self.bring(ctx, store, &place.key(), &part.path).await?;
        let bytes = bytes.ok_or_else(|| missing(place))?;
        part.finish(&target).map_err(|error| scratch(&error))?;
        Ok((name, bytes))
    }
}

/// An unfinished copy; goes away when dropped.
struct Part {
    path: PathBuf,
    _lock: File,
}

impl Part {
    fn begin(folder: &Path, run: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        clear_dead(folder);
        let path = folder.join(format!("{PART}{run}"));
        let file = File::create(&path)?;
        file.lock()?;
        Ok(Self { path, _lock: file })
    }

    fn finish(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After a rename there is none.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what dead workers left here.
fn clear_dead(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let parts = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PART));
    for part in parts.map(|entry| entry.path()) {
        if is_dead(&part).unwrap_or(false) {
            tracing::info!(path = %part.display(), "removing what a dead worker left");
            let _ = fs::remove_file(&part);
        }
    }
}

fn is_dead(part: &Path) -> io::Result<bool> {
    let file = File::open(part)?;
    let age = file.metadata()?.modified()?.elapsed();
    Ok(age.is_ok_and(|age| age > YOUNG) && file.try_lock().is_ok())
}
