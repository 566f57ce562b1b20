//! What may be typed after `strata job`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::id::JobId;

use crate::args::Format;
use crate::roles::args::{StackArgs, StoreArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Ask for work; prints the ids of the request and of its job
    #[command(after_help = "\
Examples:
  strata job submit hello_world --input name=Ada --watch
  strata job submit echo --inputs-file inputs.json --key order-17")]
    Submit(SubmitArgs),
    /// List jobs, newest first
    List(ListArgs),
    /// Show a job with its nodes
    Show(JobArgs),
    /// Follow a job to its end; exit code 0 if it completed, 1 if not
    Watch(JobArgs),
    /// Print the result of a completed job, as JSON
    Result(ResultArgs),
    /// Print the events of a job, oldest first
    Events(EventsArgs),
    /// Print what the attempts of a job logged
    Logs(LogsArgs),
    /// Say why a node is not running
    Why(WhyArgs),
    /// End jobs, or take back requests that have none yet
    Cancel(CancelArgs),
    /// Submit a failed or cancelled job again; what it finished is reused
    Retry(JobArgs),
    /// Hold back what is not dispatched yet
    Pause(PauseArgs),
    /// Let a paused job go on
    Resume(JobArgs),
    /// Let a job in quarantine be claimed again
    Release(JobArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Id of a registered workflow
    pub(crate) workflow: String,
    /// Its version; the latest when not given
    #[arg(long, value_name = "N")]
    pub(crate) workflow_version: Option<u32>,
    /// One input; the value is text or JSON, as the workflow declares it
    #[arg(short, long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// A JSON file with inputs; `--input` wins over it
    #[arg(long, value_name = "JSON")]
    pub(crate) inputs_file: Option<PathBuf>,
    /// The same key always stands for the same request
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// high, normal or low; that of the workflow when not given
    #[arg(long, value_name = "PRIORITY", value_parser = ["high", "normal", "low"])]
    pub(crate) priority: Option<String>,
    /// Follow the job to its end, as `strata job watch` does
    #[arg(long)]
    pub(crate) watch: bool,
    /// How to print the ids
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: StackArgs,
}

/// One job, and how to print.
#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// Id of the job
    pub(crate) job: JobId,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: StackArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only jobs with this status
    #[arg(long, value_name = "STATUS", ignore_case = true,
          value_parser = ["pending", "running", "completed", "failed", "cancelled"])]
    pub(crate) status: Option<String>,
    /// Only jobs of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// Jobs of one page
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=1000))]
    pub(crate) limit: i64,
    /// Where the page before ended
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
    /// How to print the list
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: StackArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Id of the job
    pub(crate) job: JobId,
    #[command(flatten)]
    pub(crate) stack: StackArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    pub(crate) of: JobArgs,
    /// Only events after this version of the job
    #[arg(long, value_name = "VERSION", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) after: i64,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(i64).range(1..=1000))]
    pub(crate) limit: i64,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) of: JobArgs,
    /// Only this node or child
    pub(crate) node: Option<String>,
    /// Only attempts that failed
    #[arg(long)]
    pub(crate) failed: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) of: JobArgs,
    /// The node, or `name__3` for a child of a fan-out
    pub(crate) node: String,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// Ids of the jobs
    #[arg(required = true, value_name = "JOB")]
    pub(crate) jobs: Vec<JobId>,
    /// Why, for the log
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "cancelled from the command line"
    )]
    pub(crate) reason: String,
    /// How to print what became of it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: StackArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) of: JobArgs,
    /// Why, for the log
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "paused from the command line"
    )]
    pub(crate) reason: String,
}
