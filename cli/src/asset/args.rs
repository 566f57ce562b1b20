//! What may be typed after `strata asset`.

use clap::{Args, Subcommand};
use domain::asset::AssetId;

use crate::args::Format;
use crate::client::args::ClientArgs;
use crate::when::When;

#[derive(Debug, Subcommand)]
pub(crate) enum AssetCommand {
    /// List assets, newest first
    List(ListArgs),
    /// Show an asset with its revisions
    Show(AssetArgs),
    /// Show an asset as it was at a position of the log, at a time, or so long ago
    #[command(after_help = "\
Examples:
  strata asset at 5f0c... 4711
  strata asset at 5f0c... 2026-11-18T14:00:00Z
  strata asset at 5f0c... 2h")]
    At(AtArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The beginning of the id, or a part of the title or of a ref
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Also those that were deleted
    #[arg(long)]
    pub(crate) with_deleted: bool,
    /// Assets of one page
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=200))]
    pub(crate) limit: i64,
    /// Where the page before ended
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
    /// How to print the list
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AssetArgs {
    /// Id of the asset
    pub(crate) asset: AssetId,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AtArgs {
    /// Id of the asset
    pub(crate) asset: AssetId,
    /// A position of the log, a time, or how long ago
    #[arg(value_name = "POS|TIME")]
    pub(crate) at: When,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
}
