//! Names the code that folds jobs: a hash over its sources, which keys the snapshots that it made.
//!
//! It takes in more than it must (all of `domain`): a snapshot that is made anew costs little, one that no longer
//! fits the code would show a wrong past.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Everything that a folded job follows from.
const SOURCES: [&str; 3] = ["../domain/src", "src/read_models", "src/travel"];

fn main() -> io::Result<()> {
    let mut hasher = Sha256::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        let mut files = Vec::new();
        collect(Path::new(folder), &mut files)?;
        files.sort();
        for file in files {
            let text = std::fs::read(&file)?;
            hasher.update(file.to_string_lossy().as_bytes());
            hasher.update([0]);
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text);
        }
    }
    // Versions of the libraries that write and read are in the lock file.
    println!("cargo::rerun-if-changed=../Cargo.lock");
    hasher.update(std::fs::read("../Cargo.lock").unwrap_or_default());
    let hash = hasher.finalize();
    let key: String = hash
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo::rustc-env=STRATA_FOLD_KEY={key}");
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            // Tests fold nothing for anybody.
            if name != "tests" {
                collect(&path, files)?;
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            files.push(path);
        }
    }
    Ok(())
}
