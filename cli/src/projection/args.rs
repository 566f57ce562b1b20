//! What may be typed after `strata projection`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::{DATA_DIR, Format};
use crate::logging::LogArgs;
use crate::roles::args::data_dir_flag;

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectionCommand {
    /// List the projections: how far each is, who leads it, what it gave up, and a rebuild that is under way
    List(PlaceArgs),
    /// Build read models anew from the log while everybody goes on, and put them in the place of the old ones
    ///
    /// The new tables are filled beside the old ones and switched in one short transaction at equal positions:
    /// nobody sees them half built, and nothing is dispatched or called. A rebuild that was killed is gone on with
    /// by the next one; Ctrl-C and `strata projection cancel` leave nothing behind.
    #[command(after_help = "\
Examples:
  strata projection rebuild --all
  strata projection rebuild read_models --verify

Exit codes: 0 switched, 3 the rows differ (with --verify; nothing was switched), 4 no such projection,
5 another process is at it, 130 interrupted or cancelled.")]
    Rebuild(RebuildArgs),
    /// Stop the rebuild that is under way, whoever runs it, and clear it away
    Cancel(PlaceArgs),
}

/// Where the log is.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Where the stack keeps its data; `STRATA_DATABASE_URL` wins over what it notes
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub(crate) data_dir: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

impl PlaceArgs {
    /// What a suggested command needs to mean the same stack; begins with a space.
    pub(crate) fn flag(&self) -> String {
        data_dir_flag(&self.data_dir)
    }
}

#[derive(Debug, Args)]
pub(crate) struct RebuildArgs {
    /// Which one; `read_models` is the one that has tables to rebuild
    #[arg(required_unless_present = "all")]
    pub(crate) name: Option<String>,
    /// All that can be rebuilt
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
    /// Compare the rebuilt rows with the live ones first; where they differ, name the first difference and switch nothing
    #[arg(long)]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
