//! `strata workflow list`: what can be submitted, and what cannot and why.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::{Format, ListArgs};
use crate::client::Client;
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint, lines_of};
use crate::runtime;
use crate::shipped;
use crate::source::{self, Source};
use crate::validate::count;

pub(crate) fn run(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    for source in sources(args, console)? {
        rows.push(match source {
            Ok(source) => row(&source),
            Err((file, error)) => json!({ "file": file, "valid": false, "error": error }),
        });
    }
    match args.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&rows)?)?,
        Format::Table => {
            let header = ["ID", "VERSION", "NAME", "NODES", "INPUTS", "HASH"];
            let mut table = console.look.table(&header);
            for row in rows.iter().filter(|row| row["valid"] == true) {
                let fields = ["id", "version", "name", "nodes", "inputs", "hash"];
                table.add_row(fields.map(|field| cell(row, field)));
            }
            console.data(&lines_of(&table))?;
        }
    }
    loud(&rows, args, console)?;
    Ok(Exit::Ok)
}

type Listed = Result<Source, (String, String)>;

/// What a stack has registered: the texts as they were then.
fn registered(args: &ListArgs) -> anyhow::Result<Vec<Listed>> {
    #[derive(Deserialize)]
    struct Answer {
        workflows: Vec<Workflow>,
    }
    #[derive(Deserialize)]
    struct Workflow {
        id: String,
        versions: Vec<Version>,
    }
    #[derive(Deserialize)]
    struct Version {
        version: u32,
        source: String,
    }
    let client = Client::find(&args.stack)?;
    let document = "{ workflows { id versions { version source } } }";
    let found: Answer = runtime::block_on(|_| async { client.ask(document, Value::Null).await })?;
    let mut listed = Vec::new();
    for Workflow { id, versions } in found.workflows {
        listed.extend(versions.into_iter().map(|version| {
            Ok(Source {
                name: format!("{id} v{}", version.version),
                text: version.source.into_bytes(),
            })
        }));
    }
    Ok(listed)
}

fn sources(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Vec<Listed>> {
    if args.registered {
        return registered(args);
    }
    let Some(dir) = &args.dir else {
        let shipped = shipped::WORKFLOWS.iter().map(|(name, text)| {
            Ok(Source {
                name: (*name).to_owned(),
                text: text.as_bytes().to_vec(),
            })
        });
        return Ok(shipped.collect());
    };
    let shown = dir.display();
    if !dir.exists() {
        let message = format!("the folder `{shown}` does not exist");
        return Err(Stop::not_found(message, "strata workflow list"));
    }
    if !dir.is_dir() {
        let message = format!("`{shown}` is a file; the list is of a folder");
        let next = format!("strata workflow validate {shown}");
        return Err(Stop::usage(message, next));
    }
    let mut sources = Vec::new();
    for file in source::files_of(dir)? {
        let name = file.display().to_string();
        sources.push(source::read(&file, console).map_err(|error| (name, error.to_string())));
    }
    Ok(sources)
}

fn row(source: &Source) -> Value {
    match source::check(&source.text) {
        Ok(definition) => {
            let hash = &definition.graph.workflow.hash;
            json!({
                "file": source.name,
                "valid": true,
                "id": definition.workflow.workflow_id,
                "version": definition.workflow.version,
                "name": definition.workflow.name,
                "nodes": definition.graph.nodes.len(),
                "inputs": definition.workflow.inputs.len(),
                "hash": hash.chars().take(8).collect::<String>(),
            })
        }
        Err(problems) => json!({
            "file": source.name,
            "valid": false,
            "problems": problems.len(),
        }),
    }
}

/// A file that is not valid blocks no other, but nobody shall miss it.
fn loud(rows: &[Value], args: &ListArgs, console: &mut Console<'_>) -> std::io::Result<()> {
    let mut bad = 0;
    for row in rows.iter().filter(|row| row["valid"] == false) {
        bad += 1;
        let why = row["problems"].as_u64().map_or_else(
            || cell(row, "error"),
            |n| count(usize::try_from(n).unwrap_or_default(), "problem"),
        );
        let word = console.look.paint(Paint::Bad, "invalid:");
        let line = format!("{word} {} ({why})", cell(row, "file"));
        match args.output {
            Format::Table => console.data(&line)?,
            Format::Json => console.talk(&line)?,
        }
    }
    if let (Some(dir), true) = (&args.dir, bad > 0) {
        console.talk(&format!("try: strata workflow validate {}", dir.display()))?;
    }
    Ok(())
}

fn cell(row: &Value, field: &str) -> String {
    match row.get(field) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}
