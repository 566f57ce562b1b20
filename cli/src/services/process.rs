//! Processes that outlive a look at them: who they are, how they are started, how they are ended.
//!
//! A pid alone names nobody, because it is used again. Here a process is its pid and its start time,
//! as the kernel gives it; a pid file holds both. What is started here has a process group of its
//! own, so that Ctrl-C in a terminal reaches Strata only, and no stream of ours.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::files;
use super::user::User;

/// How often something that cannot be waited for is looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a process may take to go after the second signal, and after the last.
const FIRM_WAIT: Duration = Duration::from_secs(10);
/// A log that is longer is put aside at the next start.
const LOG_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// What a service sees of our environment; the rest may be secret, or change how it behaves.
const PASSED_ON: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// One process, and not another one that got its number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) pid: i32,
    /// Ticks between the start of the machine and that of the process.
    started: u64,
}

/// How one service is run and ended.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    /// Whom it runs as; as we do, if not given.
    pub(crate) user: Option<User>,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) ending: Ending,
}

/// How one service is found again and ended; known before it is prepared.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    pub(crate) name: &'static str,
    pub(crate) pid_file: PathBuf,
    /// Asks it to end cleanly, and how long that may take.
    pub(crate) gentle: (Signal, Duration),
    /// Ends it at once, still by itself.
    pub(crate) firm: Signal,
    /// A note of a folder outside the data directory, which goes with the process.
    pub(crate) outside: Option<PathBuf>,
}

/// What this process has started, and how each is asked to end.
static STARTED: Mutex<Vec<(Identity, Signal)>> = Mutex::new(Vec::new());

/// Asks everything that was started to end, and waits for nothing: for a process that ends at once.
pub(crate) fn end_all() {
    let started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    for (identity, gentle) in started.iter() {
        identity.signal(*gentle);
    }
}

/// A process that was started, and from where on its log is about it.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) identity: Identity,
    pub(crate) log_from: u64,
}

impl Identity {
    /// The process with this number now; none if it has ended, even if nobody has asked how.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in brackets and may contain anything.
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        let started = fields.get(19)?.parse().ok()?;
        Some(Self { pid, started })
    }

    /// What a pid file says, if that process still runs.
    pub(crate) fn in_file(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let (pid, started) = text.trim().split_once(' ')?;
        let noted = Self {
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
        };
        noted.is_alive().then_some(noted)
    }

    pub(crate) fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Sends a signal; to nobody, if the process is gone.
    pub(crate) fn signal(self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            // It went in this moment, or is not ours; either shows when it is waited for.
            let _ = kill_process(pid, signal);
        }
    }

    /// Whether it is gone before the time is up.
    async fn is_gone_within(self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while self.is_alive() {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(LOOK_EVERY).await;
        }
        true
    }
}

impl Spec {
    /// Starts the process and notes it in the pid file.
    pub(crate) fn start(&self) -> io::Result<Started> {
        let (log, log_from) = open_log(&self.log)?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.folder);
        command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
        command.envs(PASSED_ON.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some((name, value))
        }));
        command.stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        command.process_group(0);
        if let Some(user) = &self.user {
            command.uid(user.uid).gid(user.gid);
        }
        let child = command.spawn()?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.unwrap_or_default();
        // One that has ended already has no identity; the caller will see that it has.
        let identity = Identity::of(pid).unwrap_or(Identity { pid, started: 0 });
        let note = format!("{} {}\n", identity.pid, identity.started);
        files::write(&self.ending.pid_file, note.as_bytes(), 0o644)?;
        let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
        started.retain(|(earlier, _)| earlier.is_alive());
        started.push((identity, self.ending.gentle.0));
        drop(started);
        Ok(Started {
            child,
            identity,
            log_from,
        })
    }

    /// The last lines that the process wrote to its log since it was started.
    pub(crate) fn last_words(&self, log_from: u64) -> String {
        files::tail(&self.log, log_from)
    }
}

impl Ending {
    /// Ends what an earlier start left running, if anything; says whether there was something.
    pub(crate) async fn end_leftover(&self) -> bool {
        let Some(identity) = Identity::in_file(&self.pid_file) else {
            return false;
        };
        self.end(identity).await;
        true
    }

    /// Ends a process: gently, then firmly, then for good.
    pub(crate) async fn end(&self, identity: Identity) {
        let (gentle, patience) = self.gentle;
        let steps = [
            (gentle, patience),
            (self.firm, FIRM_WAIT),
            (Signal::KILL, FIRM_WAIT),
        ];
        for (signal, wait) in steps {
            identity.signal(signal);
            if identity.is_gone_within(wait).await {
                files::remove(&self.pid_file);
                self.outside.iter().for_each(|note| remove_noted(note));
                return;
            }
            tracing::warn!(
                service = self.name,
                pid = identity.pid,
                "does not end; insisting"
            );
        }
        tracing::error!(service = self.name, pid = identity.pid, "cannot be ended");
    }
}

/// Removes the folder that a note names, if nothing is in it any more, and the note.
fn remove_noted(note: &Path) {
    if let Ok(folder) = fs::read_to_string(note)
        && fs::remove_dir(folder).is_ok()
    {
        files::remove(note);
    }
}

/// The log, open for appending, and its length so far.
fn open_log(path: &Path) -> io::Result<(File, u64)> {
    let length = |path: &Path| fs::metadata(path).map_or(0, |log| log.len());
    if length(path) > LOG_BYTES_MAX {
        fs::rename(path, path.with_extension("log.old"))?;
    }
    let log = File::options().append(true).create(true).open(path)?;
    Ok((log, length(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_number_and_start() {
        let me = i32::try_from(std::process::id()).unwrap();
        let found = Identity::of(me).unwrap();
        assert!(found.is_alive());
        let other = Identity {
            started: found.started + 1,
            ..found
        };
        assert!(!other.is_alive());
        assert_eq!(Identity::of(i32::MAX), None);
    }
}
