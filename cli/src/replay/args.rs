//! What may be typed after `strata replay`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use domain::id::JobId;

use crate::args::{DATA_DIR, Format};
use crate::logging::LogArgs;
use crate::when::When;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["job", "all", "from"])))]
pub(crate) struct ReplayArgs {
    /// The job
    pub(crate) job: Option<JobId>,
    /// All jobs of the log, or those that were made since a moment
    #[arg(long)]
    pub(crate) all: bool,
    /// With --all: jobs that were made at this position of the log or later, after this time, or so long ago at most
    #[arg(long, value_name = "WHEN", requires = "all")]
    pub(crate) since: Option<When>,
    /// The file of a proof; no database is needed
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Decide with this workflow file in place of the definition that each job has pinned
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Option<PathBuf>,
    /// With --all: connections to the database, at most [default: one per processor, up to 8]
    #[arg(long, value_name = "N", requires = "all", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) connections: Option<u32>,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    /// Where the stack keeps its data; `STRATA_DATABASE_URL` wins over what it notes
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub(crate) data_dir: PathBuf,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}
