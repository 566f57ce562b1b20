//! Exit codes: the one table of what the program tells the shell.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    /// The job failed, or the output could not be written.
    Failed = 1,
    /// Wrong usage, or a file that is not valid.
    Usage = 2,
    /// A proof does not hold, or a replay diverged.
    NotVerified = 3,
    NotFound = 4,
    Conflict = 5,
    Unreachable = 6,
    Interrupted = 130,
}

impl Exit {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error that knows its exit code and the next useful command.
#[derive(Debug)]
pub struct Stop {
    pub exit: Exit,
    pub message: String,
    pub next: String,
    /// The code that the API refused with, if it did.
    pub code: String,
}

impl Stop {
    pub(crate) fn with(
        exit: Exit,
        message: impl Into<String>,
        next: impl Into<String>,
    ) -> anyhow::Error {
        let stop = Self {
            exit,
            message: message.into(),
            next: next.into(),
            code: String::new(),
        };
        stop.into()
    }

    /// What was asked for is right, and could not be done.
    pub(crate) fn failed(message: impl Into<String>, next: impl Into<String>) -> anyhow::Error {
        Self::with(Exit::Failed, message, next)
    }

    /// Wrong usage or an invalid file.
    pub(crate) fn usage(message: impl Into<String>, next: impl Into<String>) -> anyhow::Error {
        Self::with(Exit::Usage, message, next)
    }

    /// Something that was named does not exist.
    pub(crate) fn not_found(message: impl Into<String>, next: impl Into<String>) -> anyhow::Error {
        Self::with(Exit::NotFound, message, next)
    }

    /// Somebody else has what was asked for.
    pub(crate) fn conflict(message: impl Into<String>, next: impl Into<String>) -> anyhow::Error {
        Self::with(Exit::Conflict, message, next)
    }

    /// A service is missing or does not answer.
    pub(crate) fn unreachable(
        message: impl Into<String>,
        next: impl Into<String>,
    ) -> anyhow::Error {
        Self::with(Exit::Unreachable, message, next)
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Stop {}
