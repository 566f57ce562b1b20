//! What may be typed for the roles.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use workers::Profile;

use super::api::Face;
use super::audit::AuditArgs;
use super::callbacks::CallbackArgs;
use super::catalog::CatalogArgs;
use super::geo::GeoArgs;
use super::ops::OpsArgs;
use crate::args::DATA_DIR;
use crate::logging::LogArgs;

/// Which stack a command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct StackArgs {
    /// Where the stack keeps its data
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    pub(crate) data_dir: PathBuf,
    /// First part of all NATS subjects; keeps installations on one server apart
    #[arg(
        long,
        value_name = "NAME",
        env = "STRATA_PREFIX",
        default_value = "strata"
    )]
    pub(crate) prefix: String,
    /// A task whose worker says nothing for so long is delivered again
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration, hide_short_help = true)]
    pub(crate) ack_wait: Duration,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

impl StackArgs {
    /// What a suggested command needs to mean the same stack; begins with a space.
    pub(crate) fn flag(&self) -> String {
        data_dir_flag(&self.data_dir)
    }
}

/// `--data-dir`, unless it is the usual one, quoted for a shell.
pub(crate) fn data_dir_flag(dir: &Path) -> String {
    if dir.as_os_str() == DATA_DIR {
        return String::new();
    }
    let text = dir.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if text.chars().all(plain) {
        return format!(" --data-dir {text}");
    }
    format!(" --data-dir '{}'", text.replace('\'', "'\\''"))
}

/// Where large outputs, artifacts and logs are kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArgs {
    /// Object store: a directory, `s3://bucket/prefix` or `az://container/prefix` [default: DIR/store]
    #[arg(long, value_name = "URL", env = "STRATA_STORE")]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct OrchestratorArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) ops: OpsArgs,
}

/// How an orchestrator runs.
#[derive(Debug, Clone, Args)]
pub(crate) struct Own {
    /// Folder of workflow files to register at start; the shipped ones when not given
    #[arg(long, value_name = "DIR")]
    pub(crate) workflows: Option<PathBuf>,
    /// How often the lease on its jobs is renewed
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) beat: Duration,
    /// After so long without a renewal its jobs are anybody's
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    pub(crate) stale: Duration,
    /// How often jobs without a live owner are looked for
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) scan: Duration,
    /// Longest reaction to anything whose message was lost
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) sweep: Duration,
    /// A run that no heartbeat has named for so long is lost
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) run_silence: Duration,
    /// No retries: the first failure of a task ends its job
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Jobs held in memory at once
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs_max: u32,
    /// Nodes held in memory at once, all jobs together
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes_max: u32,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectorArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    #[command(flatten)]
    pub(crate) audit: AuditArgs,
    #[command(flatten)]
    pub(crate) callbacks: CallbackArgs,
    #[command(flatten)]
    pub(crate) ops: OpsArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
    /// The role that workers reach the catalog with: it gets its rights, and is made if it is missing
    #[arg(
        long,
        value_name = "URL",
        env = "STRATA_CATALOG_URL",
        hide_env_values = true,
        requires = "pgstac_sql"
    )]
    pub(crate) catalog_url: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Kind of worker, light or heavy; may be given twice [default: both]
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    pub(crate) profile: Vec<Profile>,
    /// Queues to serve instead of those of a profile, as NAME or NAME=SLOTS
    #[arg(
        long,
        value_name = "QUEUES",
        value_delimiter = ',',
        conflicts_with = "profile"
    )]
    pub(crate) queues: Vec<String>,
    #[command(flatten)]
    pub(crate) work: Work,
    /// Leave when there was nothing to do for so long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) idle_timeout: Option<Duration>,
    /// Name of this worker, unique among all [default: host, process and a random part]
    #[arg(long, value_name = "ID")]
    pub(crate) worker_id: Option<String>,
    /// Where runs get their scratch directories [default: DIR/scratch]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) geo: GeoArgs,
    #[command(flatten)]
    pub(crate) ops: OpsArgs,
}

/// How a worker works.
#[derive(Debug, Clone, Args)]
pub(crate) struct Work {
    /// Tasks of each queue that run at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: Option<u32>,
    /// Time between two signs of life
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) heartbeat: Duration,
    /// How long handlers may take to end when the worker leaves
    #[arg(long, value_name = "TIME", default_value = "22s", value_parser = duration)]
    pub(crate) shutdown_grace: Duration,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) geo: GeoArgs,
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
    #[command(flatten)]
    pub(crate) face: Face,
    #[command(flatten)]
    pub(crate) audit: AuditArgs,
    #[command(flatten)]
    pub(crate) callbacks: CallbackArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ApiArgs {
    #[command(flatten)]
    pub(crate) stack: StackArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) face: Face,
    #[command(flatten)]
    pub(crate) callbacks: CallbackArgs,
}

/// Reads `250ms`, `5s`, `2m` or `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let refused = || format!("`{text}` is not a time; write 250ms, 5s, 2m or 1h");
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit())
        .ok_or_else(refused)?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().map_err(|_| refused())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(refused()),
    };
    let millis = number.checked_mul(millis).ok_or_else(refused)?;
    if !(1..=7 * 24 * 3_600_000).contains(&millis) {
        return Err(format!("`{text}` is out of range: 1ms to 168h"));
    }
    Ok(Duration::from_millis(millis))
}

fn profile(text: &str) -> Result<Profile, String> {
    text.parse()
        .map_err(|error: workers::InvalidProfile| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggested_command_names_the_stack_as_a_shell_reads_it() {
        let flag = |dir: &str| data_dir_flag(Path::new(dir));
        assert_eq!(flag(".strata"), "");
        assert_eq!(flag("/tmp/x"), " --data-dir /tmp/x");
        assert_eq!(flag("my d'ir"), " --data-dir 'my d'\\''ir'");
    }

    #[test]
    fn times_are_read_with_their_unit() {
        for (text, millis) in [
            ("250ms", 250),
            ("5s", 5_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)));
        }
        for bad in [
            "",
            "5",
            "s",
            "0s",
            "-1s",
            "1.5s",
            "5d",
            "999999999999999999h",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
