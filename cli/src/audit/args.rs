//! What may be typed after `strata audit`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use domain::event::checkpoint::PublicKey;
use domain::id::JobId;

use crate::archive::args::FilesArgs;
use crate::args::{DATA_DIR, Format};
use crate::logging::LogArgs;
use crate::roles::args::duration;
use crate::roles::audit::AuditKeyArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Hash the whole log again, and say what was checked, or the first position that is wrong
    ///
    /// Finds changed, deleted, inserted and reordered events, a replaced or cut end, and streams that do not fit;
    /// with the key and the checkpoints beside it also a log that was rewritten as a whole.
    #[command(after_help = "\
Examples:
  strata audit verify
  STRATA_DATABASE_URL=postgres://db/strata strata audit verify --since 5000000 --output json

Exit codes: 0 all is as it was written, 3 something was changed.")]
    Verify(VerifyArgs),
    /// Write one file that proves the events of a job to somebody who has no access to the database
    #[command(after_help = "\
Example:
  strata audit proof job_1f2e3d... --out job.proof.json")]
    Proof(ProofArgs),
    /// Check the file of a proof; no database and no server is needed
    #[command(after_help = "\
Examples:
  strata audit check job.proof.json --key strata-audit+1f2e3d4c+AQ...
  strata audit check job.proof.json --key auditors-copy.pub

Without --key it says what the file proves if you trust the key that is in it.
Exit codes: 0 it holds, 3 it does not.")]
    Check(CheckArgs),
    /// Print the public key that checkpoints are checked with; give it to whoever checks proofs
    Key(KeyArgs),
    /// Print the newest signed checkpoint, to keep it where nobody here can change it
    #[command(after_help = "\
Example:
  strata audit checkpoint > kept.note
  strata audit proof job_1f2e3d... --known kept.note --out job.proof.json")]
    Checkpoint(CheckpointArgs),
}

/// Whose log it is.
#[derive(Debug, Args)]
pub(crate) struct LogPlace {
    /// Where the stack keeps its data; `STRATA_DATABASE_URL` wins over what it notes
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub(crate) data_dir: PathBuf,
    #[command(flatten)]
    pub(crate) own: AuditKeyArgs,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Begin at the last good checkpoint before this position
    #[arg(long, value_name = "POS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=i64::MAX as u64))]
    pub(crate) since: u64,
    /// Another public key whose checkpoints are good, or a file with it; may be given several times
    #[arg(long = "key", value_name = "KEY", value_parser = public_key)]
    pub(crate) keys: Vec<PublicKey>,
    /// A file of checkpoints that was kept elsewhere [default: checkpoints.log beside the key]
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoints: Option<PathBuf>,
    /// Connections to the database, at most [default: one per processor, up to 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) connections: Option<u32>,
    /// Read what is archived too, from the object store
    #[arg(long)]
    pub(crate) archive: bool,
    #[command(flatten)]
    pub(crate) files: FilesArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) place: LogPlace,
}

#[derive(Debug, Args)]
pub(crate) struct ProofArgs {
    pub(crate) job: JobId,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// A checkpoint that was kept; the proof then shows that the log goes on from it
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    /// How long to wait for a checkpoint that covers the job
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) wait: Duration,
    /// The public key to prove with, or a file with it [default: that of the key of the data directory]
    #[arg(long, value_name = "KEY", value_parser = public_key)]
    pub(crate) key: Option<PublicKey>,
    #[command(flatten)]
    pub(crate) place: LogPlace,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The file of the proof, or `-` for stdin
    pub(crate) file: PathBuf,
    /// The public key that you trust, or a file with it
    #[arg(long, value_name = "KEY", value_parser = public_key)]
    pub(crate) key: Option<PublicKey>,
    /// A checkpoint that you kept: the proof must go on from it
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,
    /// How to print what is proven
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// Make the key if there is none
    #[arg(long)]
    pub(crate) make: bool,
    /// Where the stack keeps its data
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub(crate) data_dir: PathBuf,
    #[command(flatten)]
    pub(crate) own: AuditKeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    pub(crate) place: LogPlace,
}

/// The text of a key, or a file with it.
pub(crate) fn public_key(text: &str) -> Result<PublicKey, String> {
    PublicKey::parse(text).or_else(|refused| {
        let kept = std::fs::read_to_string(text).map_err(|_| refused.to_string())?;
        PublicKey::parse(kept.trim()).map_err(|error| format!("{text}: {error}"))
    })
}
