//! `strata diff`: what differs between two moments of a job.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::args::DiffArgs;
use super::find::no_job;
use crate::args::Format;
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::output::{Console, cut, lines_of, one_line};
use crate::runtime;
use crate::when::{MOMENT, Moment};

/// Longest value in a table.
const VALUE_CHARS: usize = 60;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    state_diff: Option<Diff>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Diff {
    from: Moment,
    to: Moment,
    changes: Vec<Change>,
    /// How many fields differ; the list may be shorter.
    changed: usize,
    nodes_touched: usize,
    nodes_left_out: usize,
    #[serde(default)]
    patch: Option<Value>,
}

#[derive(Deserialize, Serialize)]
struct Change {
    node: Option<String>,
    field: String,
    before: Value,
    after: Value,
}

pub(crate) fn run(args: &DiffArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    runtime::block_on(|_| async move {
        let client = Client::find(&args.stack)?;
        let document = format!(
            "query($id: String!, $from: AsOf!, $to: AsOf!, $first: Int!, $patch: Boolean!) {{ \
                 stateDiff(jobId: $id, from: $from, to: $to) {{ \
                     from {{ {MOMENT} }} to {{ {MOMENT} }} changed nodesTouched nodesLeftOut \
                     changes(first: $first) {{ node field before after }} \
                     patch @include(if: $patch) }} }}"
        );
        let variables = json!({
            "id": args.job, "from": args.from.input(), "to": args.to.input(), "first": args.limit,
            "patch": args.patch || args.output == Format::Json,
        });
        let Answer { state_diff } = client.ask(&document, variables).await?;
        let diff = state_diff.ok_or_else(|| no_job(args.job))?;
        if args.patch {
            let patch = diff.patch.as_ref().ok_or_else(|| {
                let message = format!("{} nodes differ: too many for a patch", diff.nodes_touched);
                Stop::failed(message, "choose moments that are closer together")
            })?;
            console.data(&serde_json::to_string_pretty(patch)?)?;
            return Ok(Exit::Ok);
        }
        match args.output {
            Format::Json => console.data(&serde_json::to_string_pretty(&diff)?)?,
            Format::Table => table(&diff, console)?,
        }
        Ok(Exit::Ok)
    })
}

fn table(diff: &Diff, console: &mut Console<'_>) -> anyhow::Result<()> {
    console.data(&format!("from  {}\nto    {}", diff.from, diff.to))?;
    if diff.changes.is_empty() {
        console.data("\nnothing differs")?;
    } else {
        let mut table = console.look.table(&["NODE", "FIELD", "BEFORE", "AFTER"]);
        for change in &diff.changes {
            table.add_row([
                change.node.clone().unwrap_or_else(|| "(job)".to_owned()),
                change.field.clone(),
                shown(&change.before),
                shown(&change.after),
            ]);
        }
        console.data(&format!("\n{}", lines_of(&table)))?;
    }
    let hidden = diff.changed - diff.changes.len().min(diff.changed);
    if hidden > 0 {
        console.talk(&format!("{hidden} more fields differ: --limit shows more"))?;
    }
    if diff.nodes_left_out > 0 {
        console.talk(&format!(
            "{} of {} touched nodes are not shown; moments that are closer together show more",
            diff.nodes_left_out, diff.nodes_touched
        ))?;
    }
    Ok(())
}

/// A value for people.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => cut(&one_line(text), VALUE_CHARS),
        value => cut(&value.to_string(), VALUE_CHARS),
    }
}
