//! One problem of a workflow file, at its place.

use std::fmt;

use serde::Serialize;

use super::code::Code;

/// Most problems that are shown of one file.
pub const DIAGNOSTICS_MAX: usize = 200;

/// What is wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub code: Code,
    /// Line of the file, from 1.
    pub line: u32,
    /// Column of the line in characters, from 1.
    pub column: u32,
    /// The field, such as `nodes.validate.next`.
    pub path: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {}", self.line, self.column, self.code)?;
        if !self.path.is_empty() {
            write!(f, " {}", self.path)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// The problems in the order of the file, without repetitions, at most [`DIAGNOSTICS_MAX`].
#[must_use]
pub(super) fn in_order(mut found: Vec<Diagnostic>, dropped: usize) -> Vec<Diagnostic> {
    found.sort_by(|a, b| {
        let key = |d: &Diagnostic| (d.line, d.column, d.code);
        key(a)
            .cmp(&key(b))
            .then_with(|| a.path.cmp(&b.path))
            .then_with(|| a.message.cmp(&b.message))
    });
    // What an alias repeats is one mistake, at the place of its anchor.
    found.dedup_by(|a, b| {
        (a.line, a.column, a.code, &a.message) == (b.line, b.column, b.code, &b.message)
    });
    let hidden = found.len().saturating_sub(DIAGNOSTICS_MAX) + dropped;
    if hidden > 0 {
        found.truncate(DIAGNOSTICS_MAX);
        let last = found.last().map_or((1, 1), |d| (d.line, d.column));
        found.push(Diagnostic {
            code: Code::TooManyProblems,
            line: last.0,
            column: last.1,
            path: String::new(),
            message: format!("{hidden} more problems follow and are not shown"),
            hint: Some("correct the first ones and check again".to_owned()),
        });
    }
    found
}
