//! Recorded jobs, decided again: by this build, and with another definition.

mod histories;
mod many;
