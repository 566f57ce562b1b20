//! Puts the pages that `portal` was built to into the library. Without them it builds as well, and says so to
//! whoever opens them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../portal/dist");
    // An empty folder can be watched, one that is not there cannot: cargo would build anew every time.
    let _ = fs::create_dir_all(&dist);
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    if dist.is_dir() {
        collect(&dist, &mut files)?;
    }
    files.retain(|file| file.extension().is_none_or(|ending| ending != "br"));
    let name = |file: &PathBuf| {
        file.strip_prefix(&dist)
            .unwrap_or(file)
            .display()
            .to_string()
    };
    files.sort_by_key(name);
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut table = String::from("pub(super) static FILES: &[File] = &[\n");
    for file in &files {
        entry(&name(file), file, &out, &mut table)?;
    }
    table.push_str("];\n");
    fs::write(out.join("portal.rs"), table)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// A row of the table. What it includes is a copy: the pages may be built anew before the compiler comes to it.
fn entry(name: &str, file: &Path, out: &Path, table: &mut String) -> io::Result<()> {
    let content = fs::read(file)?;
    let (kind, tag) = (kind_of(file), hash_of(&content));
    let copy = out.join(name.replace('/', "+"));
    fs::write(&copy, content)?;
    let packed = match fs::read(file.with_added_extension("br")) {
        Ok(content) => {
            let copy = copy.with_added_extension("br");
            fs::write(&copy, content)?;
            format!("Some(include_bytes!({copy:?}))")
        }
        Err(_) => "None".to_owned(),
    };
    writeln!(
        table,
        "    File {{ path: \"/{name}\", kind: {kind:?}, tag: \"\\\"{tag:016x}\\\"\", plain: include_bytes!({copy:?}), packed: {packed} }},"
    )
    .map_err(io::Error::other)
}

fn kind_of(file: &Path) -> &'static str {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// FNV-1a: tells one content from another, and nobody gains from making two alike.
fn hash_of(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
