//! Callbacks: the outbox, senders and real receivers.

mod behaviour;
mod endpoints;
mod receiver;
mod secrets;
mod stage;
mod storm;
