//! A worker's own folder below the scratch directory, and the end of those that dead workers left.
//!
//! A file beside the folder is locked as long as the worker lives. The lock is the kernel's, so a killed
//! worker leaves none, and whoever starts next clears its folder away.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::options::StartError;

/// A lock file so young may belong to a worker that is about to lock it.
const YOUNG: Duration = Duration::from_secs(60);

/// The folder of a worker that lives.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) path: PathBuf,
    lock: PathBuf,
    _file: File,
}

impl Room {
    /// Takes the folder of this worker, empty, and clears those of dead workers away.
    pub(super) fn open(scratch: &Path, worker_id: &str) -> Result<Self, StartError> {
        let unusable = |error: io::Error| StartError::Scratch {
            path: scratch.display().to_string(),
            reason: error.to_string(),
        };
        fs::create_dir_all(scratch).map_err(unusable)?;
        // Native tasks are named files in here by processes that work in another directory.
        let scratch = &scratch.canonicalize().map_err(unusable)?;
        clear_dead(scratch);
        let (path, lock) = (scratch.join(worker_id), lock_of(scratch, worker_id));
        let file = File::options().create(true).append(true).open(&lock);
        let file = file.map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StartError::Twice(worker_id.to_owned())),
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        // If somebody cleared the file away before we locked it, we have locked nothing.
        let is_same = fs::metadata(&lock).is_ok_and(|at| {
            file.metadata()
                .is_ok_and(|open| open.ino() == at.ino() && open.dev() == at.dev())
        });
        if !is_same {
            return Self::open(scratch, worker_id);
        }
        remove(&path);
        Ok(Self {
            path,
            lock,
            _file: file,
        })
    }

    /// Leaves nothing behind.
    pub(super) fn clear(self) {
        remove(&self.path);
        let _ = fs::remove_file(&self.lock);
    }
}

fn lock_of(scratch: &Path, worker_id: &str) -> PathBuf {
    scratch.join(format!("{worker_id}.lock"))
}

fn clear_dead(scratch: &Path) {
    let Ok(entries) = fs::read_dir(scratch) else {
        return;
    };
    for lock in entries.flatten().map(|entry| entry.path()) {
        if lock.extension().is_some_and(|end| end == "lock")
            && let Some(_held) = of_dead(&lock)
        {
            // Held until all is gone, so that nobody moves in meanwhile.
            tracing::info!(path = %lock.display(), "clearing away what a dead worker left");
            // What a child of the dead one still writes at this moment is for the next who looks.
            if remove(&lock.with_extension("")) {
                let _ = fs::remove_file(&lock);
            }
        }
    }
}

/// The lock of a worker that is gone, held.
fn of_dead(lock: &Path) -> Option<File> {
    let age = fs::metadata(lock).and_then(|meta| meta.modified());
    let is_old = age.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > YOUNG));
    let file = is_old.then(|| File::open(lock).ok()).flatten()?;
    file.try_lock().ok().map(|()| file)
}

/// Removes a directory; false if something of it is still there.
fn remove(path: &Path) -> bool {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "cannot clear a scratch directory");
            false
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn the_folder_of_a_dead_worker_is_cleared_and_that_of_a_living_one_is_not() {
        let dir = TempDir::new("room");
        let living = Room::open(dir.path(), "living").unwrap();
        fs::create_dir(&living.path).unwrap();
        fs::create_dir(dir.path().join("dead")).unwrap();
        let dead = File::create(lock_of(dir.path(), "dead")).unwrap();
        let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1);
        dead.set_modified(long_ago).unwrap();
        let lock = File::options().append(true).open(&living.lock).unwrap();
        lock.set_modified(long_ago).unwrap();
        drop(dead);
        let twice = Room::open(dir.path(), "living");
        assert!(matches!(twice, Err(StartError::Twice(_))), "{twice:?}");
        assert!(living.path.exists());
        assert!(!dir.path().join("dead").exists());
        assert!(!lock_of(dir.path(), "dead").exists());
        living.clear();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
