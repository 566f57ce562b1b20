//! What a decision can be.

/// The result of a command that was not refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<E> {
    /// These events follow. An empty list means that there was nothing to do.
    Accepted(Vec<E>),
    /// This very command took effect before.
    AlreadyApplied,
}

impl<E> Decision<E> {
    /// The events to append, none when the command had been applied before.
    pub fn into_events(self) -> Vec<E> {
        match self {
            Self::Accepted(events) => events,
            Self::AlreadyApplied => Vec::new(),
        }
    }
}
