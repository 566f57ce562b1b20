//! Programs of others that judge what was made, and helpers to look at files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// What a script of `tests/python` prints, run with the packages that judge rasters and catalogs.
pub(super) fn python(script: &str, args: &[&str], input: Option<&Value>) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("python")
        .join(script);
    let mut child = Command::new(geo_python())
        .args(["-W", "ignore"])
        .arg(&script)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = input.unwrap_or(&json!(null)).to_string();
    std::io::Write::write_all(&mut stdin, text.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaint}", script.display());
    String::from_utf8(output.stdout).unwrap()
}

/// The Python that has them.
pub(super) fn geo_python() -> String {
    std::env::var("STRATA_TEST_GEO_PYTHON")
        .expect("STRATA_TEST_GEO_PYTHON, which ./strata test sets")
}

/// The same for a script that compares files and prints one JSON object.
pub(super) fn judged(script: &str, files: &[&Path], more: &[&str]) -> Value {
    let files = files.iter().map(|file| file.to_str().unwrap());
    let args: Vec<&str> = files.chain(more.iter().copied()).collect();
    serde_json::from_str(&python(script, &args, None)).unwrap()
}

/// A COG by everyone's rules, with the pixels, the place and the CRS of its source, which titiler can show.
#[track_caller]
pub(super) fn is_faithful(cog: &Path, source: &Path) {
    let said = judged("judge_cog.py", &[cog, source], &[]);
    for key in [
        "valid",
        "equal",
        "transform",
        "crs",
        "colors",
        "bits",
        "nodata",
    ] {
        assert_eq!(said[key], true, "{key} of {}: {said}", cog.display());
    }
    assert_eq!(said["titiler"], 200, "{said}");
    assert_eq!(said["preview"], json!([200, "image/png"]), "{said}");
}

/// Files below a folder, however deep, in the order of their names.
pub(super) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        // Not through links, which may lead back.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// SHA-256 of a file, in hex.
pub(super) fn sha256(file: &Path) -> String {
    domain::json::sha256_hex(&std::fs::read(file).unwrap())
}
