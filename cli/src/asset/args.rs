//! What may be typed after `strata asset`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use domain::asset::AssetId;
use domain::id::JobId;

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
    /// Show the revisions of an asset: who made and reviewed each, by which job, and why
    #[command(after_help = "\
Examples:
  strata asset history 5f0c...
  strata asset history 5f0c... --limit 5 --output json")]
    History(HistoryArgs),
    /// Approve a revision: the current one, or the one that was looked at
    Approve(ApproveArgs),
    /// Turn a revision down
    Reject(ReasonArgs),
    /// Take the approval of a revision back
    Revoke(ReasonArgs),
    /// Go back to the content of an earlier revision, after a look whether it is still there
    ///
    /// A worker reads the artifacts of that revision again and compares their hashes. What is missing or changed is
    /// never brought back. The earlier content becomes a new revision that waits for its review; nothing is
    /// deleted. Items of the catalog stay as they are.
    #[command(after_help = "\
Examples:
  strata asset rollback 5f0c... --to 2 --reason 'stripes in the north' --dry-run
  strata asset rollback 5f0c... --to 2 --reason 'stripes in the north'

Exit codes: 0 it is done, or could be; 4 there is no such asset; 5 it is refused.")]
    Rollback(RollbackArgs),
    /// Write down everything that is known of an asset, for an incident: one file that needs nothing else
    #[command(after_help = "\
Examples:
  strata asset report 5f0c... --format html --out incident.html
  strata asset report 5f0c... --no-check > incident.md

Every revision is looked at by a worker, which reads all artifacts; --no-check leaves that out.")]
    Report(ReportArgs),
}

/// An asset and where to find it.
#[derive(Debug, Args)]
pub(crate) struct Subject {
    /// Id of the asset
    pub(crate) asset: AssetId,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) of: Subject,
    /// Revisions of one page
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=200))]
    pub(crate) limit: i64,
    /// Only revisions before this one
    #[arg(long, value_name = "REVISION")]
    pub(crate) before: Option<u32>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) of: Subject,
    /// The revision that was looked at; refused if it is not current any more
    #[arg(long, value_name = "N")]
    pub(crate) revision: Option<u32>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    #[command(flatten)]
    pub(crate) review: ApproveArgs,
    /// Why, for those who read it later
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    pub(crate) of: Subject,
    /// The revision to go back to
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) to: u32,
    /// Why, for those who read it later
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Look, and say what would change; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Go back also to artifacts that nobody can verify, because no hash of them was recorded
    #[arg(long)]
    pub(crate) accept_unverified: bool,
    /// Take the look of this job, which has ended within the last hour, instead of a new one
    #[arg(long, value_name = "JOB")]
    pub(crate) checked_by: Option<JobId>,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    #[default]
    Markdown,
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) of: Subject,
    /// How it is written
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ReportFormat,
    /// Where to write it [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Look at no artifacts
    #[arg(long)]
    pub(crate) no_check: bool,
    /// The newest so many revisions
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(i64).range(1..=200))]
    pub(crate) limit: i64,
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
