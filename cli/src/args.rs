//! The command line: what may be typed, and the help for it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use domain::failure::FailureClass;

use crate::archive::args::ArchiveCommand;
use crate::asset::args::AssetCommand;
use crate::audit::args::AuditCommand;
use crate::bench::args::BenchCommand;
use crate::client::args::ClientArgs;
use crate::dead_letters::args::DeadLetterCommand;
use crate::job::args::{AtArgs, DiffArgs, JobCommand};
use crate::key::args::KeyCommand;
use crate::logging::LogArgs;
use crate::projection::args::ProjectionCommand;
use crate::replay::args::ReplayArgs;
use crate::roles::args::{
    ApiArgs, MigrateArgs, OrchestratorArgs, ProjectorArgs, UpArgs, WorkerArgs,
};

/// Where a stack keeps its data, unless `--data-dir` says otherwise.
pub(crate) const DATA_DIR: &str = ".strata";

/// Strata: an event-sourced workflow platform.
#[derive(Debug, Parser)]
#[command(name = "strata", version, propagate_version = true)]
#[command(after_help = "\
Examples:
  strata workflow list
  strata workflow validate my_workflow.yaml
  strata workflow simulate my_workflow.yaml --input name=Ada

Commands of a person talk to the API: that of STRATA_URL with the key STRATA_KEY, else that of the
stack of the data directory.

Exit codes: 0 ok, 1 job failed or output not written, 2 usage or invalid file, 3 not verified,
4 not found, 5 conflict, 6 unreachable, 130 interrupted.
Data goes to stdout, everything else to stderr.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything here: private PostgreSQL and NATS unless others are named, and all roles
    #[command(after_help = "\
Examples:
  strata up
  STRATA_DATABASE_URL=postgres://db/strata STRATA_NATS_URL=nats://bus strata up

With STRATA_DATABASE_URL or STRATA_NATS_URL that service is used, and none is started in its place.
Logs of the services are in the data directory.")]
    Up(Box<UpArgs>),
    /// Run one workflow here from nothing to its result, and show how it goes
    #[command(after_help = "\
Examples:
  strata demo
  strata demo --data-dir /tmp/strata

If Strata runs on the data directory already, that one is used.")]
    Demo(DemoArgs),
    /// Run the API: GraphQL, live subscriptions and REST over HTTP; any number may run
    #[command(after_help = "\
Example:
  strata api --listen 0.0.0.0:8080 --public-url https://strata.example.org")]
    Api(Box<ApiArgs>),
    /// Run an orchestrator: it owns jobs and decides; any number may run
    Orchestrator(OrchestratorArgs),
    /// Run a projector: it keeps the read models; several may run, one leads
    Projector(ProjectorArgs),
    /// Run a worker: it executes tasks
    #[command(after_help = "\
Examples:
  strata worker --profile light
  strata worker --queues container-tasks=2,gpu=1 --idle-timeout 10m")]
    Worker(Box<WorkerArgs>),
    /// Submit work, look at it, and steer it
    #[command(subcommand)]
    Job(JobCommand),
    /// Show a job as it was at a position of the log, at a time, or so long ago
    #[command(after_help = "\
Examples:
  strata at job_... 4711
  strata at job_... 2026-11-18T14:00:00Z --nodes
  strata at job_... 2h --output json

`strata job events` shows the positions in the life of a job.")]
    At(AtArgs),
    /// Show what differs between two moments of a job
    #[command(after_help = "\
Examples:
  strata diff job_... 4711 4800
  strata diff job_... 2h 1h --patch

With --patch the changes are printed as JSON patch (RFC 6902).")]
    Diff(DiffArgs),
    /// Decide the recorded history of jobs again, with this build or another workflow file, and compare
    ///
    /// Reports of workers, claims, wishes and the passing of time are taken from the log; everything that was decided
    /// from them is decided again and compared, event by event. Nothing is changed: run a new build against the log of
    /// the old one before an upgrade.
    #[command(after_help = "\
Examples:
  strata replay job_...
  strata replay job_... --with changed.yaml
  strata replay --all --since 1d
  strata replay --from job.proof.json --output json

`strata audit proof JOB --out job.proof.json` writes the history of a job to a file.
Exit codes: 0 every decision is confirmed, 3 one is another today, 4 no such job.")]
    Replay(Box<ReplayArgs>),
    /// List assets, and show them as they are or were
    #[command(subcommand)]
    Asset(AssetCommand),
    /// Make, list and end the keys of the API
    #[command(subcommand)]
    Key(KeyCommand),
    /// Verify the log, prove what a job did, and check such proofs
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Move the oldest part of the log to the object store, verify it there, and bring it back
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Look at messages that nobody could make sense of
    #[command(subcommand, name = "dead-letters")]
    DeadLetters(DeadLetterCommand),
    /// Look after what is derived from the log: list it, build it anew
    #[command(subcommand)]
    Projection(ProjectionCommand),
    /// Bring the schema of the database up to date
    Migrate(MigrateArgs),
    /// Check, draw, list and simulate workflow files; no server is needed
    #[command(subcommand)]
    Workflow(WorkflowCommand),
    /// Explain an error code, such as WF0025
    Explain {
        /// The code, as printed by `strata workflow validate`
        code: String,
    },
    /// Check this machine, and the stack that runs on it
    ///
    /// Looks for PostgreSQL, nats-server, a place for data and space; and if a stack runs, whether its
    /// database, NATS and API answer. Changes nothing. `--output json` prints the addresses with their
    /// passwords.
    #[command(after_help = "\
Examples:
  strata doctor
  strata doctor --output json | jq -r .database_url

Exit codes: 0 all is well, 6 something is missing or does not answer.")]
    Doctor(DoctorArgs),
    /// Print the completion script of a shell
    #[command(after_help = "\
Example:
  strata completions bash > ~/.local/share/bash-completion/completions/strata")]
    Completions { shell: Shell },
    /// Measure this build on this machine
    ///
    /// Every bench but `core` starts a PostgreSQL, a NATS and the roles of its own, and removes them.
    #[command(subcommand)]
    Bench(BenchCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Report every problem of workflow files, each with its place and a hint
    #[command(after_help = "\
Examples:
  strata workflow validate my_workflow.yaml other.yaml
  strata workflow validate workflows/
  strata workflow validate --output json - < my_workflow.yaml")]
    Validate(ValidateArgs),
    /// Draw the graph of a workflow
    #[command(after_help = "\
Examples:
  strata workflow graph my_workflow.yaml
  strata workflow graph my_workflow.yaml --format svg -o my_workflow.svg")]
    Graph(GraphArgs),
    /// List workflows: the shipped ones, those of a folder, or those that a stack has registered
    List(Box<ListArgs>),
    /// List the handlers that workflows may call, or explain one of them
    #[command(after_help = "\
Examples:
  strata workflow handlers
  strata workflow handlers raster.validate")]
    Handlers(HandlersArgs),
    /// Print the JSON schema of the workflow language, for editors
    #[command(after_help = "\
Example:
  strata workflow schema > workflow.schema.json")]
    Schema,
    /// Run a workflow in virtual time, with failures where you want them
    ///
    /// Nothing is started and nothing waits: the same rules that run jobs in production are driven by
    /// a virtual clock and virtual workers. Durations and outputs come from the seed, so the same
    /// command always prints the same.
    #[command(after_help = "\
Examples:
  strata workflow simulate workflows/hello_world.yaml --input name=Ada
  strata workflow simulate workflows/raster_processing.yaml \\
      --input container_name=bronze --input blob_name=a.tif \\
      --set validate.file_size_mb=20 --fail validate:2 --slow process_fa:2000
  strata workflow simulate workflows/process_raster_tiled.yaml --inputs-file inputs.json \\
      --fail process_batches__1:1 --fail-class timeout --output json")]
    Simulate(SimulateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where the stack keeps its data
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub(crate) data_dir: PathBuf,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Where the stack keeps its data
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub(crate) data_dir: PathBuf,
    /// How to print the checks
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Files, folders (their *.yaml and *.yml), or `-` for stdin
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// How to print problems
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The workflow file, or `-` for stdin
    pub(crate) file: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: GraphFormat,
    /// Write to this file instead of stdout
    #[arg(short, long)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Folder of workflow files; the shipped workflows when not given
    pub(crate) dir: Option<PathBuf>,
    /// Those that can be submitted to the stack that runs, with all versions
    #[arg(long, conflicts_with = "dir")]
    pub(crate) registered: bool,
    #[command(flatten)]
    pub(crate) stack: ClientArgs,
    /// How to print the list
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct HandlersArgs {
    /// Name or alias of one handler; all of them when not given
    pub(crate) name: Option<String>,
    /// How to print them
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The workflow file, or `-` for stdin
    pub(crate) file: PathBuf,
    /// One input; the value is text or JSON, as the workflow declares it
    #[arg(short, long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// A JSON file with inputs; `--input` wins over it
    #[arg(long, value_name = "JSON")]
    pub(crate) inputs_file: Option<PathBuf>,
    /// Let a task fail: always, or in its first TIMES attempts. A fan-out's name means all its
    /// children, `name__3` one of them
    #[arg(long, value_name = "NODE[:TIMES]")]
    pub(crate) fail: Vec<String>,
    /// Class of these failures
    #[arg(long, value_enum, default_value_t)]
    pub(crate) fail_class: FailClass,
    /// Let a task take this long; longer than its timeout and it times out
    #[arg(long, value_name = "NODE:SECONDS")]
    pub(crate) slow: Vec<String>,
    /// Set an output field of a task; the value is JSON or text
    #[arg(long, value_name = "NODE.FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Durations and outputs depend on it
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Virtual worker slots, for all queues together
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) workers: u32,
    /// No retries: the first failure ends the job
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// How to print what happened
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum GraphFormat {
    #[default]
    Mermaid,
    Dot,
    Svg,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum FailClass {
    #[default]
    Transient,
    Throttling,
    Timeout,
    Permanent,
    Contract,
}

impl From<FailClass> for FailureClass {
    fn from(class: FailClass) -> Self {
        match class {
            FailClass::Transient => Self::Transient,
            FailClass::Throttling => Self::Throttling,
            FailClass::Timeout => Self::Timeout,
            FailClass::Permanent => Self::Permanent,
            FailClass::Contract => Self::Contract,
        }
    }
}
