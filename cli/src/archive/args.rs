//! What may be typed after `strata archive`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) use crate::projection::args::PlaceArgs;
use crate::roles::args::StoreArgs;
use crate::when::When;

#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    /// List what is archived: ranges of positions, where they are, and whether their tables are still here
    List(ListArgs),
    /// Move the oldest partitions of the log to the object store
    ///
    /// A partition is archived when everything in it is older than it is told and every stream in it has ended;
    /// assets, platforms and workflows, which never end, are carried forward by an event that says what is known of
    /// them. It is written to Parquet files, read back from the store, compared with the chain of the log, and only
    /// then detached. A run that was killed is gone on with by the next one. The owner of the schema may do it,
    /// `strata_app` may not.
    #[command(after_help = "\
Examples:
  strata archive make --before 90d
  strata archive make --before 2026-01-01 --drop
  STRATA_STORE=s3://bucket/strata strata archive make --before 8000001

Exit codes: 0 done (or nothing is old enough), 3 what came back is not what was written, 5 something stands in the way.")]
    Make(MakeArgs),
    /// Read the archives from the store, and compare them with the chain of the log
    #[command(after_help = "\
Example:
  strata archive verify

Exit codes: 0 all is as it was written, 3 something was changed.")]
    Verify(VerifyArgs),
    /// Bring archived positions back into the database, so that everything can be read as before
    ///
    /// What is archived stays the beginning of the log: whatever was archived after the position comes back too.
    #[command(after_help = "\
Examples:
  strata archive restore 4711
  strata archive restore 1

Exit codes: 0 restored, 3 the archive was changed (nothing is restored from it), 4 not archived.")]
    Restore(RestoreArgs),
}

/// Where archives are, and files on their way.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Where files lie on their way, one partition at a time [default: DIR/scratch]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MakeArgs {
    /// Archive what is older: how long ago (90d), a time, or a position
    #[arg(long, value_name = "MOMENT")]
    pub(crate) before: When,
    /// Remove the tables of what is archived; without it they are kept, detached, in the schema `dagapp_archived`
    #[arg(long)]
    pub(crate) drop: bool,
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The first position that is needed again
    #[arg(value_name = "POS", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) from: i64,
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
