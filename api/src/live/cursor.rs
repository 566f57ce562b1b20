//! A place in the log that a client can come back to: the log's incarnation and a position.

use crate::error::{Category, Fault};

/// A place in this log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) incarnation: String,
    pub(crate) pos: i64,
}

/// Why a cursor cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CursorError {
    #[error("`{0}` is not a cursor")]
    Malformed(String),
    #[error("the cursor is of another history of the log")]
    OtherHistory,
    #[error("the cursor is ahead of the log")]
    Ahead,
    #[error(transparent)]
    Read(#[from] projections::Error),
}

impl Cursor {
    /// The text of a place.
    pub(crate) fn text(incarnation: &str, pos: i64) -> String {
        format!("{}-{pos}", incarnation.get(..12).unwrap_or(incarnation))
    }

    /// Reads a cursor of this log.
    pub(crate) fn parse(text: &str, incarnation: &str, head: i64) -> Result<Self, CursorError> {
        let malformed = || CursorError::Malformed(text.chars().take(80).collect());
        let (of, pos) = text.split_once('-').ok_or_else(malformed)?;
        let pos: i64 = pos.parse().map_err(|_| malformed())?;
        if of.len() != 12 || !of.bytes().all(|b| b.is_ascii_hexdigit()) || pos < 0 {
            return Err(malformed());
        }
        if !incarnation.starts_with(of) {
            return Err(CursorError::OtherHistory);
        }
        if pos > head {
            return Err(CursorError::Ahead);
        }
        Ok(Self {
            incarnation: incarnation.to_owned(),
            pos,
        })
    }
}

impl From<CursorError> for Fault {
    fn from(error: CursorError) -> Self {
        match error {
            CursorError::Read(error) => error.into(),
            CursorError::Malformed(_) => Self::invalid(
                "BAD_CURSOR",
                error.to_string(),
                "use a cursor as it was given to you, or none",
            ),
            CursorError::OtherHistory | CursorError::Ahead => Self::new(
                Category::Conflict,
                "CURSOR_EXPIRED",
                format!("{error}: it was restored or moved since"),
                "read the state anew, and subscribe without a cursor",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_cursor_comes_back_as_it_was_given() {
        let text = Cursor::text(HERE, 42);
        assert_eq!(text, "0123456789ab-42");
        assert_eq!(Cursor::parse(&text, HERE, 42).unwrap().pos, 42);
    }

    #[test]
    fn cursors_of_other_histories_and_of_the_future_have_expired() {
        for (text, code) in [
            ("ffffffffffff-1", "CURSOR_EXPIRED"),
            ("0123456789ab-43", "CURSOR_EXPIRED"),
            ("0123456789ab--1", "BAD_CURSOR"),
            ("42", "BAD_CURSOR"),
            ("", "BAD_CURSOR"),
        ] {
            let fault = Fault::from(Cursor::parse(text, HERE, 42).unwrap_err());
            assert_eq!(fault.code, code, "{text}");
        }
    }
}
