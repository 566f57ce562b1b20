//! `strata at`: a job as it was.

use serde::Deserialize;
use serde_json::{Value, json};

use super::args::AtArgs;
use super::find::no_job;
use super::model::{JOB, Job, NODE, Node};
use super::show;
use super::snapshot::Snapshot;
use crate::args::Format;
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::runtime;
use crate::when::{MOMENT, Moment};

#[derive(Deserialize)]
struct Answer {
    job: Option<Then>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Then {
    #[serde(flatten)]
    job: Job,
    as_of: Moment,
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    document: Option<Value>,
}

pub(crate) fn run(args: &AtArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    runtime::block_on(|_| async move {
        let client = Client::find(&args.stack)?;
        let as_json = args.output == Format::Json;
        let document = format!(
            "query($id: String!, $asOf: AsOf!, $rows: Boolean!, $document: Boolean!, $full: Boolean!) {{ \
                 job(id: $id, asOf: $asOf) {{ {JOB} asOf {{ {MOMENT} }} \
                     nodes @include(if: $rows) {{ {NODE} }} document @include(if: $document) }} }}"
        );
        let variables = json!({
            "id": args.job, "asOf": args.at.input(), "full": false,
            "rows": args.nodes && !as_json, "document": args.nodes && as_json,
        });
        let Answer { job } = client.ask(&document, variables).await?;
        let then = job.ok_or_else(|| no_job(args.job))?;
        let text = match args.output {
            Format::Json => serde_json::to_string_pretty(&json_of(args, &then)?)?,
            Format::Table => {
                let as_of = format!("as of    {}", then.as_of);
                let shown = Snapshot::of(then.job, then.nodes);
                let mut text = format!("{as_of}\n{}", show::head(&shown)?);
                if args.nodes {
                    text.push_str("\n\n");
                    text.push_str(&show::nodes(&shown.rows, console.look));
                }
                text
            }
        };
        console.data(&text)?;
        Ok(Exit::Ok)
    })
}

/// With its nodes it is the document that patches apply to.
fn json_of(args: &AtArgs, then: &Then) -> anyhow::Result<Value> {
    if !args.nodes {
        return Ok(json!({"as_of": then.as_of, "job": then.job.json()}));
    }
    let mut document = then.document.clone().ok_or_else(|| {
        let message = "the job has too many nodes for one document";
        let next = format!("strata at {} {} --nodes", args.job, then.as_of.position());
        Stop::failed(message, next)
    })?;
    document["as_of"] = json!(then.as_of);
    Ok(document)
}
