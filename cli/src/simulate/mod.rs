//! `strata workflow simulate`: a job in virtual time, by the same rules as in production.
//!
//! The pure core decides; this module only plays the part of the workers and of the clock. No chance
//! and no real time enter, so that the same command always prints the same.

mod chance;
mod gantt;
mod outputs;
mod plan;
mod report;
mod span;
mod table;
mod timeline;
mod world;

use domain::job::JobStatus;
use serde_json::{Map, Value};

use crate::args::{Format, SimulateArgs};
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint};
use crate::source::{self, Definition};
use plan::Plan;
use timeline::Timeline;

pub(crate) fn run(args: &SimulateArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let definition = source::open(&args.file, console)?;
    let (plan, mut problems) = Plan::read(args, &definition);
    let file = match &args.inputs_file {
        Some(path) => source::json_object(path)?,
        None => Map::new(),
    };
    let inputs = match given_inputs(args, file, &definition) {
        Ok(given) => source::inputs(&definition.workflow, &given),
        Err(problems) => Err(problems),
    };
    if let Err(wrong) = &inputs {
        problems.extend(wrong.iter().map(|wrong| format!("--input {wrong}")));
    }
    let (true, Ok(inputs)) = (problems.is_empty(), inputs) else {
        return Err(Stop::usage(
            problems.join("\nerror: "),
            "strata workflow simulate --help",
        ));
    };
    let run = world::simulate(&definition, &plan, inputs)?;
    let timeline = Timeline::of(&run, &definition.workflow);
    match args.output {
        Format::Json => console.data(&report::json(&run, &timeline)?)?,
        Format::Table => {
            let look = console.look;
            console.data(&table::draw(&timeline, look))?;
            console.data("")?;
            console.data(&gantt::draw(&timeline, look))?;
            console.data("")?;
            console.data(&report::summary(&run, &timeline, look)?)?;
        }
    }
    for place in plan.never_used(&timeline) {
        let word = console.look.paint(Paint::Warn, "warning:");
        console.talk(&format!("{word} {place}"))?;
    }
    Ok(match run.state.status() {
        JobStatus::Completed => Exit::Ok,
        _ => Exit::Failed,
    })
}

/// The inputs of the file, and those of the command line above them; or what is wrong with their form.
fn given_inputs(
    args: &SimulateArgs,
    mut given: Map<String, Value>,
    definition: &Definition,
) -> Result<Map<String, Value>, Vec<String>> {
    let mut problems = Vec::new();
    for text in &args.inputs {
        let Some((name, value)) = text.split_once('=') else {
            problems.push(format!("{text}: write NAME=VALUE"));
            continue;
        };
        let kind = definition.workflow.inputs.get(name).map(|input| input.kind);
        given.insert(name.to_owned(), source::value_of(value, kind));
    }
    if problems.is_empty() {
        Ok(given)
    } else {
        Err(problems)
    }
}
