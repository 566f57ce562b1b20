//! Checks an archive before GDAL looks into it.
//!
//! Only the central directory is read. GDAL goes by the same directory, so what is declared there is also
//! all that can be unpacked.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use domain::failure::Failure;

use crate::failure::{io, name, permanent};

const ENTRIES_MAX: u64 = 1000;
const EXPANDED_MAX: u64 = 10 * 1024 * 1024 * 1024;
/// Real data shrinks to a hundredth at best; only bombs go beyond, and small ones do no harm.
const RATIO_MAX: u64 = 100;
const RATIO_FREE: u64 = 256 * 1024 * 1024;
/// A directory of a thousand names is far smaller.
const DIRECTORY_MAX: u64 = 16 * 1024 * 1024;
/// The end record and the longest comment after it.
const TAIL: u64 = 22 + 65_535;
/// What a 32-bit field says when the number is in the zip64 field.
const IN_ZIP64: u64 = 0xFFFF_FFFF;

const MODE_KIND: u32 = 0o170_000;
const MODE_LINK: u32 = 0o120_000;

/// Whether the file begins as an archive does.
pub(super) fn is_zip(path: &Path) -> Result<bool, Failure> {
    let mut head = [0; 4];
    let mut file = File::open(path).map_err(|error| io(path, &error))?;
    match file.read_exact(&mut head) {
        Ok(()) => Ok(head == *b"PK\x03\x04" || head == *b"PK\x05\x06"),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(io(path, &error)),
    }
}

/// Refuses archives that would write elsewhere, follow links, or grow beyond all measure.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    let shown = name(path);
    let bad = || permanent("bad_zip", &format!("`{shown}` is a damaged zip archive."));
    let directory = directory(path)?.ok_or_else(bad)?;
    let mut rest = directory.bytes.as_slice();
    let (mut entries, mut expanded, mut packed) = (0_u64, 0_u64, 0_u64);
    while rest.starts_with(b"PK\x01\x02") {
        let entry = Entry::read(rest).ok_or_else(bad)?;
        entry.check(&shown)?;
        entries += 1;
        expanded = expanded.saturating_add(entry.expanded);
        packed = packed.saturating_add(entry.packed);
        rest = rest.get(entry.length..).ok_or_else(bad)?;
    }
    if entries != directory.entries {
        return Err(bad());
    }
    let too_large = |what: &str| Err(permanent("zip_too_large", &format!("`{shown}` {what}.")));
    if entries > ENTRIES_MAX {
        return too_large(&format!("holds {entries} files; {ENTRIES_MAX} are allowed"));
    }
    if expanded > EXPANDED_MAX {
        return too_large(&format!(
            "expands to {expanded} bytes; {EXPANDED_MAX} are allowed"
        ));
    }
    if expanded > RATIO_FREE && expanded / packed.max(1) > RATIO_MAX {
        return too_large(&format!("expands to more than {RATIO_MAX} times its size"));
    }
    Ok(())
}

/// The central directory.
struct Directory {
    entries: u64,
    bytes: Vec<u8>,
}

/// One file of the archive.
struct Entry {
    name: String,
    flags: u64,
    mode: u32,
    packed: u64,
    expanded: u64,
    /// Bytes that the entry takes in the directory.
    length: usize,
}

impl Entry {
    fn read(bytes: &[u8]) -> Option<Self> {
        let lengths = [
            number(bytes, 28, 2)?,
            number(bytes, 30, 2)?,
            number(bytes, 32, 2)?,
        ];
        let [name, extra, comment] = lengths.map(|length| usize::try_from(length).unwrap_or(0));
        let (mut packed, mut expanded) = (number(bytes, 20, 4)?, number(bytes, 24, 4)?);
        let mut fields = bytes.get(46 + name..46 + name + extra)?;
        while fields.len() >= 4 {
            let length = usize::try_from(number(fields, 2, 2)?).ok()?;
            let field = fields.get(4..4 + length)?;
            if number(fields, 0, 2)? == 1 {
                let mut at = 0;
                for value in [&mut expanded, &mut packed] {
                    if *value == IN_ZIP64 {
                        *value = number(field, at, 8)?;
                        at += 8;
                    }
                }
            }
            fields = fields.get(4 + length..)?;
        }
        Some(Self {
            name: String::from_utf8_lossy(bytes.get(46..46 + name)?).into_owned(),
            flags: number(bytes, 8, 2)?,
            mode: u32::try_from(number(bytes, 40, 2)?).ok()?,
            packed,
            expanded,
            length: 46 + name + extra + comment,
        })
    }

    fn check(&self, archive: &str) -> Result<(), Failure> {
        let shown: String = self.name.chars().take(100).collect();
        let is_unsafe = |what: &str| {
            Err(permanent(
                "unsafe_zip",
                &format!("`{archive}` is refused: its entry `{shown}` {what}."),
            ))
        };
        let mut parts = self.name.split(['/', '\\']);
        if parts.any(|part| part == "..") {
            return is_unsafe("leads out of the archive");
        }
        let drive = self.name.as_bytes().get(1) == Some(&b':');
        if self.name.starts_with(['/', '\\']) || drive {
            return is_unsafe("is an absolute name");
        }
        if self.name.contains('\0') || self.name.is_empty() {
            return is_unsafe("has a broken name");
        }
        if self.mode & MODE_KIND == MODE_LINK {
            return is_unsafe("is a link");
        }
        if self.flags & 1 != 0 {
            return Err(permanent(
                "zip_encrypted",
                &format!("`{archive}` is encrypted. Send it without a password."),
            ));
        }
        Ok(())
    }
}

/// Finds the central directory from the end of the file; nothing if there is none that makes sense.
fn directory(path: &Path) -> Result<Option<Directory>, Failure> {
    let failed = |error: std::io::Error| io(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let tail_at = size.saturating_sub(TAIL);
    let tail = part(&mut file, tail_at, size - tail_at).map_err(failed)?;
    let end = tail.windows(4).rposition(|window| window == b"PK\x05\x06");
    let Some(end) = end.and_then(|at| tail.get(at..)) else {
        return Ok(None);
    };
    let found = (number(end, 10, 2), number(end, 12, 4), number(end, 16, 4));
    let (Some(mut entries), Some(mut length), Some(mut start)) = found else {
        return Ok(None);
    };
    if entries == 0xFFFF || length == IN_ZIP64 || start == IN_ZIP64 {
        let locator = tail.windows(4).rposition(|window| window == b"PK\x06\x07");
        let at = locator.and_then(|at| number(tail.get(at..)?, 8, 8));
        let Some(at) = at.filter(|at| at.saturating_add(56) <= size) else {
            return Ok(None);
        };
        let record = part(&mut file, at, 56).map_err(failed)?;
        let found = (
            number(&record, 32, 8),
            number(&record, 40, 8),
            number(&record, 48, 8),
        );
        let (true, (Some(e), Some(l), Some(s))) = (record.starts_with(b"PK\x06\x06"), found) else {
            return Ok(None);
        };
        (entries, length, start) = (e, l, s);
    }
    if length > DIRECTORY_MAX || start.saturating_add(length) > size {
        return Ok(None);
    }
    let bytes = part(&mut file, start, length).map_err(failed)?;
    Ok(Some(Directory { entries, bytes }))
}

fn part(file: &mut File, start: u64, length: u64) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A little-endian number of up to 8 bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |value, byte| (value << 8) | u64::from(*byte)),
    )
}
