//! Small files of the data directory: written whole or not at all, secrets for their owner only.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Mode of a file that holds a secret.
pub(crate) const SECRET: u32 = 0o600;
/// Lines of a log that an error shows, and where it starts to look for them.
const TAIL_LINES: usize = 12;
const TAIL_BYTES: u64 = 16 * 1024;
/// Bytes of a password before they are written in hex.
const PASSWORD_BYTES: usize = 24;

/// Writes a file under another name and puts it in place, so that nobody reads half of it.
pub(crate) fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let fresh = path.with_extension(format!("new-{}", std::process::id()));
    // A leftover could have another mode.
    remove(&fresh);
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&fresh)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(bytes)?;
    drop(file);
    fs::rename(&fresh, path)
}

/// Removes a file that may be there.
pub(crate) fn remove(path: &Path) {
    // Not there, or not ours: then whoever needs it gone says so.
    let _ = fs::remove_file(path);
}

/// A secret that is drawn once and then stays the same.
pub(crate) fn password(path: &Path) -> io::Result<String> {
    if let Ok(kept) = fs::read_to_string(path)
        && !kept.trim().is_empty()
    {
        return Ok(kept.trim().to_owned());
    }
    let drawn = random_hex(PASSWORD_BYTES)?;
    write(path, drawn.as_bytes(), SECRET)?;
    Ok(drawn)
}

/// This many random bytes of the system, in hex.
pub(crate) fn random_hex(bytes: usize) -> io::Result<String> {
    let mut drawn = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut drawn)?;
    Ok(drawn.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The last lines of a log, of those after a position.
pub(crate) fn tail(path: &Path, from: u64) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(TAIL_BYTES))))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
