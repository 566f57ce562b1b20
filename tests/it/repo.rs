//! The files of the repository, as the checks of the house read them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One file of the repository, its path relative to the top and with `/`.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Whether it holds tests only.
    pub(crate) fn is_test(&self) -> bool {
        self.path
            .split('/')
            .any(|part| matches!(part, "tests" | "tests.rs" | "benches"))
    }
}

/// The top folder of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Every text file that is part of the repository or about to be.
pub(crate) fn text_files() -> Vec<File> {
    let mut paths = files_known_to_git().unwrap_or_else(|| walk(root()));
    paths.sort();
    let read = |path: PathBuf| {
        let relative = path
            .strip_prefix(root())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        // What is not UTF-8 is not text.
        fs::read_to_string(path).ok().map(|text| File {
            path: relative,
            text,
        })
    };
    paths.into_iter().filter_map(read).collect()
}

/// Every Rust file below `folder`, which must have some.
pub(crate) fn rust_files_below(folder: &str) -> Vec<File> {
    let prefix = format!("{folder}/");
    let files: Vec<File> = text_files()
        .into_iter()
        .filter(|file| file.path.starts_with(&prefix) && file.path.ends_with(".rs"))
        .collect();
    assert!(!files.is_empty(), "{folder} has no Rust files");
    files
}

fn files_known_to_git() -> Option<Vec<PathBuf>> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output()
        .ok()?;
    let names = String::from_utf8(listed.stdout).ok()?;
    let paths: Vec<PathBuf> = names
        .split_terminator('\0')
        .map(|name| root().join(name))
        .filter(|p| p.exists())
        .collect();
    (listed.status.success() && !paths.is_empty()).then_some(paths)
}

/// Without git, as in an unpacked archive: everything but what builds leave behind.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let kept = entries.filter(|entry| {
        !matches!(
            entry.file_name().to_str(),
            Some("target" | ".git" | ".strata" | "node_modules" | "dist")
        )
    });
    kept.flat_map(|entry| {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            walk(&path)
        } else {
            vec![path]
        }
    })
    .collect()
}

#[test]
fn the_walk_without_git_finds_the_same_rust_files() {
    let names = |paths: Vec<PathBuf>| -> Vec<PathBuf> {
        let mut rust: Vec<PathBuf> = paths
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e == "rs"))
            .collect();
        rust.sort();
        rust
    };
    if let Some(known) = files_known_to_git() {
        assert_eq!(names(walk(root())), names(known));
    }
}
