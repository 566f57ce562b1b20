//! Why the log could not be used.

/// A failure of the store, not of a command.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// The store cannot be reached now, or what became of the statement is unknown: the identical
    /// batch may be sent again.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// The store understood and refused; sending the same again would not help.
    #[error("the database refused: {0}")]
    Refused(String),
    #[error("an event could not be written: {0}")]
    Encode(String),
    #[error("an event of the log cannot be read: {0}")]
    Decode(String),
}

impl LogError {
    /// Whether the same may work later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

impl From<sqlx::Error> for LogError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(db) => {
                let code = db.code().unwrap_or_default();
                // Connection trouble, shutdown, out of resources, serialization, cancelled by a time-out.
                let passing = ["08", "57", "53", "40", "55", "58"];
                if passing.iter().any(|class| code.starts_with(class)) {
                    Self::Unavailable(format!("{} ({code})", db.message()))
                } else {
                    Self::Refused(format!("{} ({code})", db.message()))
                }
            }
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
                Self::Decode(error.to_string())
            }
            sqlx::Error::Encode(_) => Self::Encode(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}
