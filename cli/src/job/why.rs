//! `strata job why`: where a node stands, in a sentence.

use domain::job::Why;
use serde::Deserialize;
use serde_json::{Value, json};

use super::args::WhyArgs;
use super::find::{About, Found};
use crate::args::Format;
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::output::{Console, one_line};

#[derive(Deserialize)]
struct WithNode {
    node: Option<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    why: Value,
}

pub(super) async fn run(args: &WhyArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.of.stack)?;
    let (job, node) = (args.of.job, &args.node);
    let about = About {
        job,
        params: ", $node: String!",
        fields: "node(id: $node) { why }".to_owned(),
        variables: json!({"node": node}),
    };
    let next = format!("strata job show {job}");
    let answer = match about.ask::<WithNode>(&client).await? {
        Found::Job(found, _) => found.node,
        Found::Waiting(_) => {
            let message = format!("{job} has no nodes yet: no orchestrator has taken its request");
            return Err(Stop::conflict(message, next));
        }
    };
    let Some(Answer { why }) = answer else {
        return Err(Stop::not_found(format!("{job} has no node `{node}`"), next));
    };
    match args.of.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&why)?)?,
        Format::Table => {
            // A newer server may have reasons that this build does not know.
            let known = serde_json::from_value(why.clone());
            let text = known.map_or_else(|_| why.to_string(), |why| sentence(&why));
            console.data(&format!("{node}: {}", one_line(&text)))?;
        }
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
