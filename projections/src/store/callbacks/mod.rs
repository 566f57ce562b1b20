//! `dagapp.callback_*`: what is owed, who sends it, and what came of it.

pub(crate) mod claim;
pub(crate) mod outbox;
pub(crate) mod record;
pub(crate) mod source;
