//! `strata job why`: where a node stands, in a sentence.

use commands::why::WhyError;
use domain::id::NodeId;
use domain::job::Why;

use super::args::WhyArgs;
use super::client::{self, Found};
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, one_line};

pub(super) async fn run(args: &WhyArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let write = client::look(&args.of.stack).await?;
    let node = NodeId::from(args.node.as_str());
    let job = args.of.job;
    let answer = write.writer.why(job, &node).await;
    let waits = match &answer {
        Err(WhyError::NoJob(_)) => client::find(&write, job).await.map(Some),
        _ => Ok(None),
    };
    write.stop().await;
    if let Some(Found::Waiting(_)) = waits? {
        let message = format!("{job} has no nodes yet: no orchestrator has taken its request");
        return Err(Stop::conflict(message, format!("strata job show {job}")));
    }
    let why = answer.map_err(|error| match error {
        WhyError::NoJob(_) => client::no_job(job),
        WhyError::NoNode { .. } => {
            Stop::not_found(error.to_string(), format!("strata job show {job}"))
        }
        WhyError::Load(_) => Stop::failed(error.to_string(), "strata doctor"),
        WhyError::Log(error) => client::no_log(error),
    })?;
    match args.of.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&why)?)?,
        Format::Table => console.data(&format!("{node}: {}", one_line(&sentence(&why))))?,
    }
    Ok(Exit::Ok)
}

fn sentence(why: &Why) -> String {
    match why {
        Why::Completed => "it is done".to_owned(),
        Why::Skipped { because, how } => {
            let how = serde_json::to_value(how).unwrap_or_default();
            let how = how.as_str().unwrap_or_default().replace('_', " ");
            format!("it will not run: {how}, decided at {because}")
        }
        Why::JobEnded { status } => format!("it never ran: the job is {}", status.word()),
        Why::Failed { failure } => format!("it failed for good: {}", failure.message),
        Why::WaitsForNodes { nodes, more } => {
            let names: Vec<_> = nodes.iter().map(ToString::to_string).collect();
            let more = match more {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            format!("it waits for {}{more}", names.join(", "))
        }
        Why::WaitsForEngine => "the engine comes to it with its next step".to_owned(),
        Why::Paused => "the job is paused".to_owned(),
        Why::WaitsForSibling {
            max_parallel,
            at_work,
        } => format!("it waits for a sibling: {at_work} of at most {max_parallel} are at work"),
        Why::WaitsForWindow { queue, .. } => {
            format!("it is ready; queue {queue} has no room for it yet")
        }
        Why::WaitsForRetry {
            due,
            attempt,
            failure,
        } => format!(
            "it failed ({}); attempt {attempt} is due at {}",
            failure.message,
            due.format("%H:%M:%S%.3f UTC")
        ),
        Why::WaitsForWorker { queue, .. } => {
            format!(
                "it is in queue {queue}, and no worker has taken it; does one serve that queue?"
            )
        }
        Why::Running { attempt, .. } => format!("a worker is at it, attempt {attempt}"),
        Why::WaitsForChildren { completed, total } => {
            format!("its children are at work: {completed} of {total} are done")
        }
    }
}
