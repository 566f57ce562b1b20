//! Callbacks: the outbox, senders and real receivers.

mod behaviour;
mod endpoints;
pub(crate) mod receiver;
mod secrets;
pub(crate) mod stage;
mod storm;
