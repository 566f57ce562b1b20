//! The command line: what may be typed, and the help for it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use domain::failure::FailureClass;

/// Strata: an event-sourced workflow platform.
#[derive(Debug, Parser)]
#[command(name = "strata", version, propagate_version = true)]
#[command(after_help = "\
Examples:
  strata workflow list
  strata workflow validate my_workflow.yaml
  strata workflow simulate my_workflow.yaml --input name=Ada

Exit codes: 0 ok, 1 job failed or output not written, 2 usage or invalid file, 4 not found.
Data goes to stdout, everything else to stderr.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check, draw, list and simulate workflow files; no server is needed
    #[command(subcommand)]
    Workflow(WorkflowCommand),
    /// Explain an error code, such as WF0025
    Explain {
        /// The code, as printed by `strata workflow validate`
        code: String,
    },
    /// Print the completion script of a shell
    #[command(after_help = "\
Example:
  strata completions bash > ~/.local/share/bash-completion/completions/strata")]
    Completions { shell: Shell },
    /// Measure this build on this machine
    Bench {
        /// What to measure
        name: BenchName,
    },
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
    /// List workflows: the shipped ones, or those of a folder
    List(ListArgs),
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

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum BenchName {
    /// Decisions per second and memory of one job, and folding of events
    Core,
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
