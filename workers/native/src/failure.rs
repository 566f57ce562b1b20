//! Failures with the codes that handlers promise, and with texts that name no directories.

use std::io::ErrorKind;
use std::path::Path;

use domain::failure::{Failure, FailureClass};

use crate::ffi::error::Noted;

/// The name of the file alone: where it lies is nobody's business.
pub(crate) fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

pub(crate) fn permanent(code: &str, message: &str) -> Failure {
    Failure::new(FailureClass::Permanent, code, message)
}

pub(crate) fn cancelled() -> Failure {
    Failure::new(
        FailureClass::Cancelled,
        "cancelled",
        "The work was stopped because its job ended.",
    )
}

/// An error of the system while touching `path`.
pub(crate) fn io(path: &Path, error: &std::io::Error) -> Failure {
    let name = name(path);
    match error.kind() {
        ErrorKind::NotFound => permanent("not_found", &format!("There is no file `{name}`.")),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => disk_full(),
        ErrorKind::OutOfMemory => out_of_memory(),
        ErrorKind::PermissionDenied | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
            permanent("unreadable", &format!("`{name}` cannot be read: {error}."))
        }
        _ => Failure::new(
            FailureClass::Transient,
            "io",
            &format!("`{name}` could not be read or written: {error}."),
        ),
    }
}

/// What GDAL noted while it did something to `path`; `code` unless the system itself was short of something.
pub(crate) fn noted(code: &str, what: &str, path: &Path, noted: &Noted) -> Failure {
    if noted.is_disk_full() {
        return disk_full();
    }
    if noted.is_out_of_memory() {
        return out_of_memory();
    }
    let reason = without_directories(&noted.message, path);
    let reason = reason.trim().trim_end_matches('.');
    if reason.is_empty() {
        return permanent(code, &format!("{what}."));
    }
    permanent(code, &format!("{what}: {reason}."))
}

/// The text with the directory of `path`, and anything else that looks like one, cut away.
pub(crate) fn without_directories(text: &str, path: &Path) -> String {
    let mut text = text.to_owned();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for known in [absolute.parent(), path.parent()].into_iter().flatten() {
        let known = known.to_string_lossy();
        if known.len() > 1 {
            text = text.replace(&format!("{known}/"), "");
        }
    }
    let words = text.split(' ').map(|word| {
        let start = word.find('/').filter(|at| {
            let before = word.get(..*at).unwrap_or_default();
            before.chars().all(|c| !c.is_alphanumeric())
        });
        match (start, word.rfind('/')) {
            (Some(first), Some(last)) if last > first => {
                let before = word.get(..first).unwrap_or_default();
                let after = word.get(last + 1..).unwrap_or_default();
                format!("{before}{after}")
            }
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn disk_full() -> Failure {
    Failure::new(
        FailureClass::Transient,
        "disk_full",
        "The disk that holds the result is full. Free some space; the work is then done again.",
    )
}

fn out_of_memory() -> Failure {
    permanent(
        "out_of_memory",
        "There was not enough memory for this file. Give the worker more, or cut the file into parts.",
    )
}

#[cfg(test)]
mod tests {
    use super::without_directories;
    use std::path::Path;

    #[test]
    fn texts_name_no_directories() {
        let path = Path::new("/some/where nice/a.tif");
        for (text, expected) in [
            ("/some/where nice/a.tif: bad", "a.tif: bad"),
            ("`/etc/secret/b.tif' is gone", "`b.tif' is gone"),
            ("10 m/s and 1/2", "10 m/s and 1/2"),
        ] {
            assert_eq!(without_directories(text, path), expected);
        }
    }
}
