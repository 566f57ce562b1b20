//! What may be typed after `strata dead-letters`.

use clap::{Args, Subcommand};

use crate::args::Format;
use crate::client::args::ClientArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetterCommand {
    /// List them, newest first
    List(ListArgs),
    /// Show one with its content
    Show(LetterArgs),
    /// Send one to its subject again, and forget it
    Replay(LetterArgs),
    /// Forget one
    Discard(LetterArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=1000))]
    pub(crate) limit: i64,
    /// Only older ones than this
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<i64>,
    /// How to print the list
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LetterArgs {
    /// Its number
    pub(crate) id: i64,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
}
