//! A directory beside the target in which it is made, so that the target itself is absent or complete.
//!
//! GDAL leaves files of several names behind when it is stopped; they go with the directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use domain::failure::{Failure, FailureClass};

use crate::failure::{io, name};

/// Where a file is made. Goes away with everything in it when dropped.
pub(super) struct Workplace {
    directory: PathBuf,
    target: PathBuf,
    syncing: Option<JoinHandle<std::io::Result<()>>>,
}

impl Workplace {
    /// A fresh one; what an earlier, killed attempt left is removed.
    pub(super) fn new(target: &Path) -> Result<Self, Failure> {
        let target = std::path::absolute(target).map_err(|error| io(target, &error))?;
        if target.symlink_metadata().is_ok() {
            return Err(Failure::new(
                FailureClass::Contract,
                "target_exists",
                &format!("`{}` exists already and is not replaced.", name(&target)),
            ));
        }
        let directory = target.with_file_name(format!("{}.part", name(&target)));
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io(&directory, &error));
            }
            _ => {}
        }
        fs::create_dir(&directory).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::new(
                FailureClass::Contract,
                "no_target_directory",
                &format!("There is no directory to write `{}` to.", name(&target)),
            ),
            _ => io(&target, &error),
        })?;
        Ok(Self {
            directory,
            target,
            syncing: None,
        })
    }

    /// A file to write in here.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Begins to bring a file to the disk while it is still read, so that [`Workplace::finish`] need not wait.
    pub(super) fn sync_early(&mut self, file: &Path) {
        let file = file.to_owned();
        self.syncing = Some(thread::spawn(move || sync(&file)));
    }

    /// Brings a file to the disk and gives it the name of the target.
    pub(super) fn finish(mut self, file: &Path) -> Result<(), Failure> {
        let syncing = self.syncing.take();
        let failed = |error: std::io::Error| io(&self.target, &error);
        // The system tells of an error once, to whoever asks first.
        let early = syncing.map_or(Ok(Ok(())), JoinHandle::join);
        early
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .and_then(|()| sync(file))
            .map_err(failed)?;
        fs::rename(file, &self.target).map_err(failed)?;
        if let Some(parent) = self.target.parent() {
            // Not every file system can; the file itself is safe.
            let _ = File::open(parent).and_then(|parent| parent.sync_all());
        }
        Ok(())
    }
}

fn sync(file: &Path) -> std::io::Result<()> {
    File::open(file)?.sync_all()
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!(%error, "a working directory of GDAL could not be removed");
        }
    }
}
