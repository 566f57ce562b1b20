//! The log as evidence: what a superuser of the database changes is found, and jobs are proven without one.

mod proofs;
mod stage;
mod tampering;
