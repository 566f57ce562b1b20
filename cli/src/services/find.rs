//! The programs that Strata runs but does not bring: PostgreSQL and nats-server.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::Stop;

/// Names the folder with `postgres` and `initdb`.
pub const POSTGRES_BIN: &str = "STRATA_POSTGRES_BIN";
/// Names the program `nats-server`.
pub const NATS_SERVER: &str = "STRATA_NATS_SERVER";

const POSTGRES_OLDEST: u32 = 15;
const NATS_OLDEST: (u32, u32) = (2, 11);
/// Where packages put the programs of each version.
const POSTGRES_FOLDERS: &str = "/usr/lib/postgresql";
/// Where the launcher puts nats-server, from the folder that holds the build.
const NATS_TOOL: &str = "tools/nats-server/bin/nats-server";
/// Installs whatever is missing.
const LAUNCHER: &str = "./strata up, from the top folder of Strata, installs it";

/// A program that was found and is new enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The program, or the folder of the programs.
    pub path: PathBuf,
    pub version: String,
}

/// The folder with PostgreSQL's programs: the newest, or the one that made `data`.
pub fn postgres(data: Option<&Path>) -> anyhow::Result<Found> {
    let made_by = data.and_then(|data| fs::read_to_string(data.join("PG_VERSION")).ok());
    let made_by: Option<u32> = made_by.and_then(|text| text.trim().parse().ok());
    let mut found = Vec::new();
    for folder in postgres_folders() {
        let Some(said) = version_of(&folder.join("postgres")) else {
            continue;
        };
        if let Some((major, _)) = numbers(&said).filter(|_| folder.join("initdb").is_file()) {
            found.push((
                major,
                Found {
                    path: folder,
                    version: said,
                },
            ));
        }
    }
    // Stable, so that of equal ones the first folder wins.
    found.sort_by_key(|(major, _)| std::cmp::Reverse(*major));
    if let Some(wanted) = made_by {
        let fits = found.into_iter().find(|(major, _)| *major == wanted);
        return fits.map(|(_, found)| found).ok_or_else(|| {
            Stop::unreachable(
                format!("the data directory was made by PostgreSQL {wanted}, which is not on this machine"),
                format!("install PostgreSQL {wanted}, or name its folder in {POSTGRES_BIN}"),
            )
        });
    }
    match found.into_iter().next() {
        Some((major, found)) if major >= POSTGRES_OLDEST => Ok(found),
        Some((_, old)) => Err(Stop::unreachable(
            format!(
                "PostgreSQL {POSTGRES_OLDEST} or newer is needed, and this is {}",
                old.version
            ),
            format!("install a newer one, or name its folder in {POSTGRES_BIN}"),
        )),
        None => Err(Stop::unreachable(
            "PostgreSQL is needed, and its programs `postgres` and `initdb` were not found",
            format!("{LAUNCHER}; or name their folder in {POSTGRES_BIN}"),
        )),
    }
}

/// The program nats-server.
pub fn nats() -> anyhow::Result<Found> {
    let mut old = None;
    for program in nats_programs() {
        let Some(said) = version_of(&program) else {
            continue;
        };
        let found = Found {
            path: program,
            version: said,
        };
        if numbers(&found.version).is_some_and(|version| version >= NATS_OLDEST) {
            return Ok(found);
        }
        old.get_or_insert(found);
    }
    let (major, minor) = NATS_OLDEST;
    let message = match old {
        Some(old) => format!(
            "nats-server {major}.{minor} or newer is needed, and {} is {}",
            old.path.display(),
            old.version
        ),
        None => "nats-server is needed and was not found".to_owned(),
    };
    let next = format!("{LAUNCHER}; or name the program in {NATS_SERVER}");
    Err(Stop::unreachable(message, next))
}

fn postgres_folders() -> Vec<PathBuf> {
    if let Some(named) = set(POSTGRES_BIN) {
        return vec![named];
    }
    let versions = fs::read_dir(POSTGRES_FOLDERS).into_iter().flatten();
    let packaged = versions.flatten().map(|entry| entry.path().join("bin"));
    packaged.chain(path_folders()).collect()
}

fn nats_programs() -> Vec<PathBuf> {
    if let Some(named) = set(NATS_SERVER) {
        return vec![named];
    }
    let on_path = path_folders()
        .into_iter()
        .map(|folder| folder.join("nats-server"));
    let here = env::current_exe().unwrap_or_default();
    let tools = here.ancestors().map(|folder| folder.join(NATS_TOOL));
    on_path
        .chain(tools)
        .filter(|program| program.is_file())
        .collect()
}

fn set(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn path_folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).collect()
}

/// What a program says about its version: the first word with a number in it.
fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let word = text
        .split_whitespace()
        .find(|word| numbers(word).is_some())?;
    output
        .status
        .success()
        .then(|| word.trim_start_matches('v').to_owned())
}

/// Major and minor of `15.4`, `v2.11.0` or `17rc1`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let digits = |text: &str| {
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        text[..end].parse().ok()
    };
    let version = version.strip_prefix('v').unwrap_or(version);
    let (major, rest) = version.split_once('.').unwrap_or((version, ""));
    Some((digits(major)?, digits(rest).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_programs_write_them() {
        let cases = [
            ("15.18", Some((15, 18))),
            ("v2.11.0-RC.1", Some((2, 11))),
            ("17rc1", Some((17, 0))),
            ("nats-server:", None),
            ("(PostgreSQL)", None),
        ];
        for (text, expected) in cases {
            assert_eq!(numbers(text), expected, "{text}");
        }
        assert!((2, 9) < NATS_OLDEST && (3, 0) > NATS_OLDEST);
    }
}
