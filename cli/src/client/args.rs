//! Which server a command of a person talks to.

use std::path::PathBuf;

use clap::Args;

use crate::args::DATA_DIR;
use crate::logging::LogArgs;
use crate::roles::args::data_dir_flag;

/// Where the API is: `STRATA_URL` with `STRATA_KEY`, else that of the stack of a data directory.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClientArgs {
    /// Where the stack keeps its data; `STRATA_URL` and `STRATA_KEY` win over what it notes
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub(crate) data_dir: PathBuf,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

impl ClientArgs {
    /// What a suggested command needs to mean the same stack; begins with a space.
    pub(crate) fn flag(&self) -> String {
        data_dir_flag(&self.data_dir)
    }
}
