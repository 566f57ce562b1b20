//! `strata job show`.

use comfy_table::{Cell, Color};
use serde_json::Value;

use super::args::JobArgs;
use super::list;
use super::snapshot::{self, Row, Snapshot};
use crate::args::Format;
use crate::client::Client;
use crate::exit::Exit;
use crate::output::{Console, Look, cut, lines_of, one_line};

/// Longest inputs and results that are shown in full.
const SHOWN_CHARS: usize = 400;

pub(super) async fn run(args: &JobArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.stack)?;
    let (json, text) = match snapshot::take(&client, args.job, None, true).await? {
        Ok(shown) => (shown.json(), text(&shown, console.look)?),
        Err(row) => {
            let mut text = format!(
                "job      {}\nstatus   WAITING: no orchestrator has taken the request yet\nrequest  {}",
                row.job_id, row.request_id
            );
            if row.quarantined {
                text.push_str(&quarantine(row.claims));
            }
            (row.waiting_json(), text)
        }
    };
    match args.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&json)?)?,
        Format::Table => console.data(&text)?,
    }
    Ok(Exit::Ok)
}

fn text(shown: &Snapshot, look: Look) -> anyhow::Result<String> {
    let mut text = head(shown)?;
    if shown.is_quarantined() {
        text.push_str(&quarantine(shown.open.as_ref().map_or(0, |row| row.claims)));
    }
    text.push_str("\n\n");
    text.push_str(&nodes(&shown.rows, look));
    Ok(text)
}

/// The job without its nodes.
pub(super) fn head(shown: &Snapshot) -> anyhow::Result<String> {
    let job = &shown.job;
    let mut lines = vec![
        format!("job      {}", job.job_id),
        format!("workflow {} v{}", job.workflow_id, job.workflow_version),
        format!("status   {}", list::status_of(job)),
        format!("inputs   {}", short(&job.input_params)?),
        format!("counts   {}", counts(shown)),
    ];
    match (&job.owner_id, &shown.open) {
        (Some(owner), Some(_)) => lines.push(format!("owner    {owner}")),
        (None, Some(_)) => lines.push("owner    none".to_owned()),
        _ => {}
    }
    if let Some(origin) = &job.origin {
        let field = |name: &str| origin.get(name).and_then(Value::as_str).unwrap_or("?");
        let kind = field("kind").replace('_', " ");
        lines.push(format!("origin   {kind} {}", field("job_id")));
    }
    for (word, made) in shown.made.each() {
        lines.extend(made.map(|job| format!("made     {word} as {job}")));
    }
    if let Some(failure) = &job.failure {
        lines.push(format!("failure  {}", failure_text(failure)));
    }
    if let Some(result) = &job.result {
        lines.push(format!("result   {}", short(result)?));
    }
    Ok(lines.join("\n"))
}

/// JSON for people: `--output json` has the whole.
fn short(value: &Value) -> anyhow::Result<String> {
    Ok(cut(&serde_json::to_string(value)?, SHOWN_CHARS))
}

fn quarantine(claims: i64) -> String {
    format!(
        "\nquarantine: claimed {claims} times without progress; `strata job release JOB` lets it be tried again"
    )
}

fn counts(shown: &Snapshot) -> String {
    let all = shown.job.counts().each();
    let some = all.iter().filter(|(_, count)| *count > 0);
    let words: Vec<_> = some
        .map(|(word, count)| format!("{count} {}", word.to_lowercase()))
        .collect();
    words.join(", ")
}

/// The reason of a job's failure, with the node if one is named.
pub(super) fn failure_text(failure: &Value) -> String {
    let field = |name: &str| failure.get(name).and_then(Value::as_str);
    let inner = failure.get("failure").unwrap_or(failure);
    let message = inner.get("message").and_then(Value::as_str);
    let message = message.or_else(|| field("reason"));
    let message = message.map_or_else(|| failure.to_string(), one_line);
    match field("node").or_else(|| field("node_id")) {
        Some(node) => format!("{message} (node {node})"),
        None => message,
    }
}

pub(super) fn nodes(rows: &[Row], look: Look) -> String {
    let mut table = look.table(&["NODE", "KIND", "STATUS", "ATTEMPTS", "NOTE"]);
    for row in rows {
        let attempts = match row.node.attempt {
            n if row.node.ready_at.is_some()
                && row.node.handler.is_some()
                && row.children.is_none() =>
            {
                n.to_string()
            }
            _ => String::new(),
        };
        table.add_row([
            Cell::new(&row.node.node_id),
            Cell::new(&row.node.kind),
            status(row.status()),
            Cell::new(attempts),
            Cell::new(row.note()),
        ]);
    }
    lines_of(&table)
}

fn status(word: &str) -> Cell {
    let cell = Cell::new(word);
    match word {
        "COMPLETED" => cell.fg(Color::Green),
        "FAILED" => cell.fg(Color::Red),
        "SKIPPED" => cell.fg(Color::DarkGrey),
        _ => cell,
    }
}
