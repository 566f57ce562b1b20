//! What may be typed after `strata job`.

use std::path::PathBuf;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use clap::{Args, Subcommand};
use domain::id::JobId;

use crate::args::Format;
use crate::client::args::ClientArgs;
use crate::when::When;

const STEER_HELP: &str = "\
Jobs are named one by one, or by a filter:
  strata job pause job_...
  strata job cancel --workflow echo --status running
With a filter you are first told how many jobs it is; --yes goes on without asking.
Without a terminal to ask and without --yes nothing is done, and the exit code is 2.";

#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Ask for work; prints the ids of the request and of its job
    #[command(after_help = "\
Examples:
  strata job submit hello_world --input name=Ada --watch
  strata job submit echo --inputs-file inputs.json --key order-17")]
    Submit(SubmitArgs),
    /// List jobs, newest first
    #[command(after_help = "\
Examples:
  strata job list --status failed --status cancelled --since 2026-11-01
  strata job list --text job_018f
  strata job list --as-of 2h --status running")]
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
    #[command(after_help = STEER_HELP)]
    Cancel(CancelArgs),
    /// Submit failed or cancelled jobs again; what they finished is reused
    #[command(after_help = STEER_HELP)]
    Retry(RetryArgs),
    /// Start an ended job again in the middle, as a new job, perhaps with other inputs
    #[command(after_help = "\
What is completed before the nodes that you name is taken over. These nodes run, and so do those that read
an input which has another value, and everything behind either.
Examples:
  strata job fork job_... --at reproject --dry-run
  strata job fork job_... --at reproject --input resolution=5 --watch
  strata job fork job_... --input resolution=5")]
    Fork(ForkArgs),
    /// Hold back what is not dispatched yet
    #[command(after_help = STEER_HELP)]
    Pause(PauseArgs),
    /// Let paused jobs go on
    #[command(after_help = STEER_HELP)]
    Resume(SteerArgs),
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
    pub(crate) stack: ClientArgs,
}

/// Where to start a job again.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Id of the job; it has ended
    pub(crate) job: JobId,
    /// A node to start again from; without any, it starts where a changed input is read
    #[arg(long, value_name = "NODE")]
    pub(crate) at: Vec<String>,
    /// An input with another value; the value is text or JSON, as the workflow declares it
    #[arg(short, long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// A JSON file with inputs; `--input` wins over it
    #[arg(long, value_name = "JSON")]
    pub(crate) inputs_file: Option<PathBuf>,
    /// The same key always stands for the same fork
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Only say what would be taken over, and what would run
    #[arg(long, conflicts_with_all = ["watch", "key"])]
    pub(crate) dry_run: bool,
    /// Follow the new job to its end, as `strata job watch` does
    #[arg(long)]
    pub(crate) watch: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
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
    pub(crate) stack: ClientArgs,
}

/// A job at some moment.
#[derive(Debug, Args)]
pub(crate) struct AtArgs {
    /// Id of the job
    pub(crate) job: JobId,
    /// A position of the log, a time, or how long ago
    #[arg(value_name = "POS|TIME")]
    pub(crate) at: When,
    /// With its nodes
    #[arg(long)]
    pub(crate) nodes: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
}

/// Two moments of a job.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Id of the job
    pub(crate) job: JobId,
    /// A position of the log, a time, or how long ago
    #[arg(value_name = "A")]
    pub(crate) from: When,
    /// The same, earlier or later
    #[arg(value_name = "B")]
    pub(crate) to: When,
    /// Print the JSON patch (RFC 6902) that makes `strata at JOB A --nodes --output json` that of B
    #[arg(long, conflicts_with_all = ["output", "limit"])]
    pub(crate) patch: bool,
    /// Fields that are shown, at most
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(i64).range(1..=2000))]
    pub(crate) limit: i64,
    /// How to print the differences
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
}

/// Which jobs.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct FilterArgs {
    /// Only jobs with this status; may be given several times
    #[arg(long, value_name = "STATUS", ignore_case = true,
          value_parser = ["pending", "running", "completed", "failed", "cancelled"])]
    pub(crate) status: Vec<String>,
    /// Only jobs of this workflow
    #[arg(long, value_name = "ID")]
    pub(crate) workflow: Option<String>,
    /// The beginning of the id of a job, its request or its asset, or a part of the workflow's name
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Only jobs made at this time or later, such as 2026-11-18 or 2026-11-18T14:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<DateTime<Utc>>,
    /// Only jobs made before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<DateTime<Utc>>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// The list as it was at a position of the log, at a time, or so long ago
    #[arg(long, value_name = "POS|TIME")]
    pub(crate) as_of: Option<When>,
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
    pub(crate) stack: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Id of the job
    pub(crate) job: JobId,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
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
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) of: JobArgs,
    /// The node, or `name__3` for a child of a fan-out
    pub(crate) node: String,
}

/// Which jobs to steer.
#[derive(Debug, Args)]
pub(crate) struct SteerArgs {
    /// Ids of the jobs
    #[arg(value_name = "JOB", conflicts_with_all = ["status", "workflow", "text", "since", "until"])]
    pub(crate) jobs: Vec<JobId>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Do not ask, however many jobs a filter fits
    #[arg(long)]
    pub(crate) yes: bool,
    /// How to print what became of it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    pub(crate) of: SteerArgs,
    /// Only say what would be taken over, and what would run; for jobs that are named
    #[arg(long, conflicts_with_all = ["status", "workflow", "text", "since", "until", "yes"])]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    pub(crate) of: SteerArgs,
    /// Why, for the log
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "cancelled from the command line"
    )]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) of: SteerArgs,
    /// Why, for the log
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "paused from the command line"
    )]
    pub(crate) reason: String,
}

/// Reads a day, or a moment with its zone.
fn time(text: &str) -> Result<DateTime<Utc>, String> {
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Ok(moment.to_utc());
    }
    let day: Result<NaiveDate, _> = text.parse();
    let day =
        day.map_err(|_| format!("`{text}` is no time; write 2026-11-18 or 2026-11-18T14:00:00Z"))?;
    Ok(day.and_time(NaiveTime::MIN).and_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_days_or_moments() {
        assert_eq!(
            time("2026-11-18").unwrap().to_rfc3339(),
            "2026-11-18T00:00:00+00:00"
        );
        let moment = time("2026-11-18T14:00:00+02:00").unwrap();
        assert_eq!(moment.to_rfc3339(), "2026-11-18T12:00:00+00:00");
        for bad in ["", "yesterday", "2026-13-01", "2026-11-18T14:00:00"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
