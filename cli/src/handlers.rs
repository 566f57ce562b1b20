//! `strata workflow handlers`: what workflows may call, with what, and what comes back.

use domain::definition::model::{Input, ValueType};
use domain::definition::type_name;
use domain::handler::{Catalog, Handler, Output};
use serde_json::Value;

use crate::args::{Format, HandlersArgs};
use crate::exit::{Exit, Stop};
use crate::output::{Console, Look, Paint, lines_of};
use crate::source::did_you_mean;

pub(crate) fn run(args: &HandlersArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let catalog = Catalog::shipped();
    let look = console.look;
    let Some(name) = &args.name else {
        let all: Vec<&Handler> = catalog.iter().collect();
        console.data(&match args.output {
            Format::Json => serde_json::to_string_pretty(&all)?,
            Format::Table => list(&all, look),
        })?;
        return Ok(Exit::Ok);
    };
    let Some(handler) = catalog.find(name) else {
        let near = did_you_mean(name, catalog.names());
        let near = near.map_or_else(String::new, |hint| format!("; {hint}"));
        let message = format!("there is no handler `{name}`{near}");
        return Err(Stop::not_found(message, "strata workflow handlers"));
    };
    console.data(&match args.output {
        Format::Json => serde_json::to_string_pretty(handler)?,
        Format::Table => page(handler, look),
    })?;
    Ok(Exit::Ok)
}

fn list(handlers: &[&Handler], look: Look) -> String {
    let header = [
        "NAME",
        "ALIASES",
        "QUEUE",
        "TIMEOUT",
        "IDEMPOTENT",
        "DESCRIPTION",
    ];
    let mut table = look.table(&header);
    for handler in handlers {
        table.add_row([
            handler.name.clone(),
            handler.aliases.join(", "),
            handler.queue.clone(),
            format!("{} s", handler.timeout_seconds),
            yes_no(handler.idempotent).to_owned(),
            handler.description.clone(),
        ]);
    }
    lines_of(&table)
}

/// Everything about one handler.
fn page(handler: &Handler, look: Look) -> String {
    let mut text = format!(
        "{}: {}\n",
        look.paint(Paint::Strong, &handler.name),
        handler.description
    );
    if !handler.aliases.is_empty() {
        text.push_str(&format!("also called: {}\n", handler.aliases.join(", ")));
    }
    text.push_str(&format!(
        "queue {}, timeout {} s, idempotent: {}\n\n",
        handler.queue,
        handler.timeout_seconds,
        yes_no(handler.idempotent)
    ));
    let mut params = look.table(&["PARAM", "TYPE", "RULES", "DESCRIPTION"]);
    for (name, input) in &handler.params {
        let about = input.description.as_deref().unwrap_or_default();
        params.add_row([name, word(input.kind), &rules(input), about]);
    }
    text.push_str(&lines_of(&params));
    let sets: Vec<String> = handler.one_of.iter().map(|set| set.join(" + ")).collect();
    if !sets.is_empty() {
        text.push_str(&format!("\nneeds one of: {}", sets.join("; ")));
    }
    if handler.open_params {
        text.push_str("\ntakes any other parameter as well");
    }
    let mut outputs = look.table(&["OUTPUT", "TYPE", "RULES", "DESCRIPTION"]);
    for (name, output) in &handler.outputs {
        let rules = if output.optional { "may be null" } else { "" };
        outputs.add_row([name, word(output.kind), rules, &about(output)]);
    }
    text + "\n\n" + &lines_of(&outputs)
}

/// What a value of this parameter must be like.
fn rules(input: &Input) -> String {
    let mut rules = Vec::new();
    if input.required {
        rules.push("required".to_owned());
    }
    if let Some(default) = &input.default {
        rules.push(format!("default {default}"));
    }
    if let Some(choices) = &input.choices {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        rules.push(format!("one of {}", choices.join(" ")));
    }
    if let Some(min) = input.min {
        rules.push(format!("min {min}"));
    }
    if let Some(max) = input.max {
        rules.push(format!("max {max}"));
    }
    if let Some(pattern) = &input.pattern {
        rules.push(format!("matches {pattern}"));
    }
    rules.join(", ")
}

fn about(output: &Output) -> String {
    let Some(fields) = &output.fields else {
        return output.description.clone();
    };
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    format!("{} Fields: {}.", output.description, names.join(", "))
}

/// `string`, not `a string`.
fn word(kind: ValueType) -> &'static str {
    let name = type_name(kind);
    name.split_once(' ').map_or(name, |(_, word)| word)
}

fn yes_no(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}
