//! A directory for one run, made when it is asked for and deleted when the run is over.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use domain::failure::{Failure, FailureClass};

/// The private directory of a run.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    made: OnceLock<()>,
}

impl Scratch {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            made: OnceLock::new(),
        }
    }

    pub(crate) fn is_made(&self) -> bool {
        self.made.get().is_some()
    }

    pub(crate) fn path(&self) -> Result<&Path, Failure> {
        if !self.is_made() {
            std::fs::create_dir_all(&self.path).map_err(|error| {
                let message = format!("cannot make the scratch directory: {error}");
                Failure::new(FailureClass::Transient, "scratch", &message)
            })?;
            let _ = self.made.set(());
        }
        Ok(&self.path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_made()
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "a scratch directory stays behind");
        }
    }
}
