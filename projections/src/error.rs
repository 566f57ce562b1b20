//! What can go wrong on the read side.

/// The code of what is refused because it is archived.
const ARCHIVED: &str = "STR01";

/// An error of the read side; nothing of it is ever the fault of the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("a statement on the read models failed")]
    Database(#[source] sqlx::Error),
    #[error("positions 1 to {0} of the log are archived, and this needs one of them")]
    Archived(i64),
    #[error("an archive cannot be read: {0}")]
    Archive(String),
    #[error("a value could not be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("an event cannot be read")]
    Decode(#[from] domain::event::DecodeError),
    #[error("projector `{0}` is led by another process now")]
    LeadLost(&'static str),
    #[error("the read models did not reach position {wanted} in time; they are at {reached}")]
    Late { wanted: i64, reached: i64 },
    #[error(
        "the log is not the one of which a checkpoint was signed at position {0}: nothing is signed any more"
    )]
    Rewritten(u64),
    #[error("position {0} of the log is missing")]
    Gap(u64),
    #[error("the file of signed checkpoints cannot be used")]
    Checkpoints(#[from] std::io::Error),
    #[error("there are no events of job {0}")]
    NoJob(domain::id::JobId),
    #[error(
        "no checkpoint that covers position {0} was signed in time; does a projector with a key run?"
    )]
    NotSigned(u64),
    #[error("the proof does not hold: the log was changed")]
    Proof(#[from] domain::event::proof::ProofError),
    #[error("a replay broke off: {0}")]
    Replay(String),
    #[error("a checkpoint cannot be read")]
    Checkpoint(#[from] domain::event::checkpoint::CheckpointError),
    #[error("`{0}` is not a cursor of this list")]
    Cursor(String),
    #[error("{wanted} has not come yet; the log is at position {head}")]
    Ahead { wanted: String, head: i64 },
    #[error("the log begins later")]
    BeforeLog,
    #[error("there was no {what} {id} at position {pos}; it was made at position {since}")]
    NotYet {
        what: &'static str,
        id: String,
        pos: i64,
        since: i64,
    },
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match archived(&error) {
            Some(upto) => Self::Archived(upto),
            None => Self::Database(error),
        }
    }
}

/// What `dagapp.live` and its sisters say: how far the log is archived.
fn archived(error: &sqlx::Error) -> Option<i64> {
    let sqlx::Error::Database(said) = error else {
        return None;
    };
    let said: &sqlx::postgres::PgDatabaseError = said.try_downcast_ref()?;
    (said.code() == ARCHIVED).then(|| said.detail()?.parse().ok())?
}

impl Error {
    /// Whether the rows themselves are at fault, so that trying again cannot help.
    pub(crate) fn is_data(&self) -> bool {
        let Self::Database(sqlx::Error::Database(error)) = self else {
            return matches!(self, Self::Json(_));
        };
        // Data exception, constraint violation, program limit exceeded.
        let classes = ["21", "22", "23", "54"];
        error
            .code()
            .is_some_and(|code| classes.iter().any(|class| code.starts_with(class)))
    }

    /// The error with all its sources, for the log.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        text
    }
}
