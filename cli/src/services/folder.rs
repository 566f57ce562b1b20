//! The data directory: where everything is, and who has it.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::{Instant, sleep};

use super::files;
use super::process::LOOK_EVERY;
use crate::exit::Stop;

/// Ports are picked here: below those that the system gives to outgoing connections, which could
/// take one in the moment in which its service is restarted.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// Ports that are tried before giving up.
const PORT_TRIES: usize = 200;

/// The data directory, by its full path.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

/// Held while the data directory is in use; freed when dropped, also by a crash.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Folder {
    /// The data directory, made if it is not there. Others may pass through it only if `shared`.
    pub(crate) fn open(path: &Path, shared: bool) -> anyhow::Result<Self> {
        let make = || -> io::Result<PathBuf> {
            let mode = if shared { 0o711 } else { 0o700 };
            if !path.exists() {
                DirBuilder::new().recursive(true).mode(0o755).create(path)?;
                fs::set_permissions(path, Permissions::from_mode(mode))?;
            }
            for name in ["logs", "store", "scratch", "nats"] {
                // Outputs and logs of tasks are nobody else's business. That somebody else makes it at the same
                // moment is no error.
                let folder = path.join(name);
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder)?;
            }
            fs::canonicalize(path)
        };
        let path = make()
            .with_context(|| format!("cannot use the data directory {}", path.display()))
            .map_err(|error| Stop::usage(format!("{error:#}"), "give another --data-dir"))?;
        Ok(Self { path })
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Takes the data directory, waiting this long for another one to leave it.
    pub(crate) async fn lock(&self, wait: Duration) -> anyhow::Result<Lock> {
        let path = self.file("lock");
        let deadline = Instant::now() + wait;
        let mut options = File::options();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    sleep(LOOK_EVERY).await;
                }
                Err(TryLockError::WouldBlock) => return Err(self.is_taken(&path)),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
        file.set_len(0)?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Lock { _file: file })
    }

    fn is_taken(&self, lock: &Path) -> anyhow::Error {
        let holder = fs::read_to_string(lock).unwrap_or_default();
        let holder = match holder.trim() {
            "" => "another process".to_owned(),
            pid => format!("process {pid}"),
        };
        Stop::conflict(
            format!(
                "Strata already runs on {}: {holder} has it",
                self.path.display()
            ),
            "use it, stop it, or give another --data-dir",
        )
    }

    /// The port kept in this file, or another one if somebody else has it.
    pub(crate) fn port(&self, name: &str) -> anyhow::Result<u16> {
        let path = self.file(name);
        let kept = fs::read_to_string(&path).ok();
        let kept: Option<u16> = kept.and_then(|text| text.trim().parse().ok());
        if let Some(port) = kept.filter(|port| is_free(*port)) {
            return Ok(port);
        }
        let port = free_port()?;
        files::write(&path, format!("{port}\n").as_bytes(), 0o644)?;
        Ok(port)
    }
}

/// Whether a service could listen on this port of the loopback address.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn free_port() -> anyhow::Result<u16> {
    for _ in 0..PORT_TRIES {
        let drawn = u16::from_str_radix(&files::random_hex(2)?, 16)?;
        let port = PORTS.start + drawn % (PORTS.end - PORTS.start);
        if is_free(port) {
            return Ok(port);
        }
    }
    let (from, to) = (PORTS.start, PORTS.end);
    Err(Stop::failed(
        format!("found no free port from {from} to {to}"),
        "strata doctor",
    ))
}
