//! What the machine has: programs, a place for data, and space.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statvfs};

use super::Check;
use crate::services::find;

const GIGABYTE: u64 = 1024 * 1024 * 1024;
/// Less free space is worth a word; with less than the second, PostgreSQL may stop any moment.
const SPACE_WARN: u64 = 10 * GIGABYTE;
const SPACE_FAIL: u64 = GIGABYTE;

pub(super) fn postgres(data_dir: &Path) -> Check {
    match find::postgres(Some(&data_dir.join("postgres"))) {
        Ok(found) => program("postgres", &found),
        Err(error) => Check::from_error("postgres", &error),
    }
}

pub(super) fn nats() -> Check {
    match find::nats() {
        Ok(found) => program("nats-server", &found),
        Err(error) => Check::from_error("nats-server", &error),
    }
}

pub(super) fn writable(data_dir: &Path) -> Check {
    let place = existing(data_dir);
    let shown = data_dir.display();
    if !place.is_dir() {
        let detail = format!("{} is not a folder", place.display());
        return Check::fail("data directory", detail, "give another --data-dir");
    }
    match access(&place, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) if place == data_dir => Check::ok("data directory", format!("{shown} is writable")),
        Ok(()) => Check::ok("data directory", format!("{shown} can be made")),
        Err(error) => {
            let detail = format!("cannot write to {}: {error}", place.display());
            Check::fail("data directory", detail, "give another --data-dir")
        }
    }
}

pub(super) fn space(data_dir: &Path) -> Check {
    let place = existing(data_dir);
    let free = match statvfs(&place) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => {
            let detail = format!("cannot tell for {}: {error}", place.display());
            return Check::warn("disk space", detail, "");
        }
    };
    let detail = format!("{} GB free", free / GIGABYTE);
    let remedy = "free some space, or give a --data-dir on another disk";
    match free {
        ..SPACE_FAIL => Check::fail("disk space", detail, remedy),
        SPACE_FAIL..SPACE_WARN => Check::warn("disk space", detail, remedy),
        SPACE_WARN.. => Check::ok("disk space", detail),
    }
}

fn program(name: &'static str, found: &find::Found) -> Check {
    Check::ok(
        name,
        format!("{} at {}", found.version, found.path.display()),
    )
}

/// The path, or the nearest folder above it that exists.
fn existing(path: &Path) -> PathBuf {
    let above = path.ancestors().find(|above| fs::metadata(above).is_ok());
    match above {
        Some(above) => above.to_owned(),
        // A relative path ends in nothing, which means here.
        None => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn a_folder_that_can_be_made_is_fine_and_a_file_is_not() {
        assert_eq!(writable(Path::new("not/there")).result, Verdict::Ok);
        let check = writable(Path::new("/etc/passwd/data"));
        assert_eq!(check.result, Verdict::Fail, "{check:?}");
    }
}
