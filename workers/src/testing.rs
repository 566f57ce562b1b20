//! Helpers of this crate's own unit tests.

use std::path::{Path, PathBuf};

/// A directory that is gone when the test is over.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new(name: &str) -> Self {
        let unique = crate::clock::fresh_run();
        let path = std::env::temp_dir().join(format!("strata-{name}-{unique}"));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
