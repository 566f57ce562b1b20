//! Why the log could not be used.

/// The code of what is refused because it is archived.
const ARCHIVED: &str = "STR01";

/// A failure of the store, not of a command.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// The store cannot be reached now, or what became of the statement is unknown: the identical
    /// batch may be sent again.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// The store refused for a reason that lies with it: rights, schema, configuration.
    #[error("the database refused: {0}")]
    Refused(String),
    /// The values themselves cannot be stored; they never were and never will be.
    #[error("the database cannot take these values: {0}")]
    Invalid(String),
    /// What is read needs events that were moved to the object store.
    #[error("positions 1 to {0} of the log are archived, and this needs one of them")]
    Archived(u64),
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
                // Connection trouble, shutdown, out of resources, serialization, cancelled by a time-out;
                // a standby that is not promoted yet, a login or a database that is not there yet.
                let passing = ["08", "57", "53", "40", "55", "58", "25", "28", "3D"];
                let values = ["21", "22", "23", "54"];
                let is = |classes: &[&str]| classes.iter().any(|class| code.starts_with(class));
                let text = format!("{} ({code})", db.message());
                if code == ARCHIVED {
                    let said = db.try_downcast_ref::<sqlx::postgres::PgDatabaseError>();
                    let upto = said.and_then(|said| said.detail()?.parse().ok());
                    Self::Archived(upto.unwrap_or(0))
                } else if is(&passing) {
                    Self::Unavailable(text)
                } else if is(&values) {
                    Self::Invalid(text)
                } else {
                    Self::Refused(text)
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
