//! `strata replay`: recorded jobs, decided again.
//!
//! It works on the log itself and not through an API: the API decides with its own build, and this one is asked.

mod all;
pub(crate) mod args;
mod show;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use domain::event::proof::{self, FILE_BYTES_MAX, NoReplay};
use domain::handler::Catalog;
use domain::id::JobId;
use domain::job::Policy;
use projections::replay::{Other, Outcome, Replayed, Replayer};

use crate::exit::{Exit, Stop};
use crate::output::{Console, one_line};
use crate::roles::stack::Stack;
use crate::{logging, runtime, source};
use args::ReplayArgs;
use show::One;

pub(crate) fn run(args: &ReplayArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init_quiet(&args.log);
    let other = match &args.with {
        Some(file) => {
            let definition = source::open(file, console)?;
            Some(Other {
                workflow: Arc::new(definition.workflow),
                graph: definition.graph,
            })
        }
        None => None,
    };
    match (&args.from, args.job) {
        (Some(file), _) => of_file(file, other, args, console),
        (None, Some(job)) => of_log(job, other, args, console),
        (None, None) => all::run(other, args, console),
    }
}

/// What is assumed of the settings of owners: they are not in the log, and nothing but their defaults can be set.
fn policy() -> Policy {
    Policy::default()
}

fn of_log(
    job: JobId,
    other: Option<Other>,
    args: &ReplayArgs,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let wanted = other
        .as_ref()
        .map(|other| other.workflow.workflow_id.clone());
    let found = runtime::block_on(async |stop| {
        let pool = Stack::of_database(&args.data_dir)?.pool(1).await?;
        let catalog = Arc::new(Catalog::shipped());
        let replayer = Replayer::new(&pool, 1, catalog, other, policy());
        let found = tokio::select! {
            () = stop.cancelled() => return Ok(None),
            found = replayer.job(job) => found.map_err(|error| unreadable(&error))?,
        };
        replayer.close().await;
        pool.close().await;
        Ok(Some(found))
    })?;
    let Some(found) = found else {
        return Ok(Exit::Interrupted);
    };
    let Replayed {
        workflow, outcome, ..
    } = found.ok_or_else(|| {
        Stop::not_found(
            format!("there are no events of job {job}"),
            "strata job list",
        )
    })?;
    let verdict = match outcome {
        Outcome::Verdict(verdict) => verdict,
        Outcome::Unreadable(why) => return Err(no_replay(&one_line(&why))),
        Outcome::OtherWorkflow => {
            let found = workflow.map(|workflow| workflow.id).unwrap_or_default();
            return Err(other_workflow(&found, &wanted.unwrap_or_default()));
        }
    };
    let one = One {
        job_id: job.to_string(),
        workflow,
        with: args.with.as_deref(),
        verdict,
    };
    one.show(args.output, console)
}

fn of_file(
    file: &Path,
    other: Option<Other>,
    args: &ReplayArgs,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let bytes = read(file, console)?;
    let (proven, history) = proof::open(&bytes, None).map_err(|error| {
        let why = one_line(&format!("{:#}", anyhow::Error::new(error)));
        let message = format!("{} does not hold: {why}", file.display());
        Stop::with(
            Exit::NotVerified,
            message,
            "strata audit proof JOB --out FILE",
        )
    })?;
    let other = other
        .as_ref()
        .map(|other| (&*other.workflow, &*other.graph));
    let replayed = history.replay(&Catalog::shipped(), other, &policy());
    let (workflow, verdict) = replayed.map_err(|error| match error {
        NoReplay::OtherWorkflow { found, wanted } => other_workflow(&found, &wanted),
        NoReplay::NoDefinition { .. } => {
            let next = "write the file again with this version: strata audit proof JOB --out FILE";
            Stop::with(Exit::NotVerified, error.to_string(), next)
        }
        error => no_replay(&one_line(&format!("{:#}", anyhow::Error::new(error)))),
    })?;
    let one = One {
        job_id: proven.job_id.to_string(),
        workflow: Some(workflow),
        with: args.with.as_deref(),
        verdict,
    };
    one.show(args.output, console)
}

fn read(file: &Path, console: &mut Console<'_>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more than is taken: then it is known to be too large.
    let limit = u64::try_from(FILE_BYTES_MAX)? + 1;
    let done = match file.as_os_str() == "-" {
        true => (&mut *console.input).take(limit).read_to_end(&mut bytes),
        false => File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    match done {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Stop::usage(
            format!("cannot read {}: {error}", file.display()),
            "strata audit proof JOB --out FILE",
        )),
    }
}

fn unreadable(error: &projections::Error) -> anyhow::Error {
    let message = format!("the log cannot be read: {}", crate::audit::chain(error));
    Stop::unreachable(message, "strata doctor")
}

/// A history that this build cannot follow is not confirmed.
fn no_replay(why: &str) -> anyhow::Error {
    let message = format!("the job cannot be replayed: {why}");
    Stop::with(Exit::NotVerified, message, "strata audit verify")
}

fn other_workflow(found: &str, wanted: &str) -> anyhow::Error {
    let message = format!(
        "the job runs workflow `{}`, and the file defines `{}`",
        one_line(found),
        one_line(wanted)
    );
    Stop::usage(message, "give the file the workflow_id of the job")
}
