//! The `strata` binary: composition root and subcommands.
//!
//! [`run`] is the whole program; `main` only gives it the streams of the process. Commands return an
//! [`Exit`] or an error; errors are printed here, once, with the next useful command.

mod archive;
mod args;
mod asset;
mod audit;
mod bench;
mod client;
mod dead_letters;
mod demo;
mod doctor;
pub mod exit;
mod explain;
mod graph;
mod handlers;
mod job;
mod key;
mod list;
mod logging;
pub mod output;
mod projection;
mod replay;
mod roles;
pub mod runtime;
pub mod services;
mod shipped;
mod simulate;
mod source;
mod spans;
mod validate;
mod when;

use std::ffi::OsString;

use clap::{CommandFactory, Parser};

use args::{Cli, Command, WorkflowCommand};
use exit::{Exit, Stop};
use output::{Console, Paint};

/// The first argument of a process that a worker starts for one piece of native work.
pub const NATIVE: &str = "native";

/// Does one piece of native work, as the worker that started this process says.
pub fn native() -> ! {
    workers::child::serve()
}

/// Runs one command line and says how it ended.
pub fn run(args: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> Exit {
    let ended = match Cli::try_parse_from(args) {
        Ok(cli) => execute(cli.command, console),
        Err(error) => Ok(show_usage(&error, console)),
    };
    spans::finish();
    // First: whatever else the command said, it did not hand over what was asked for.
    if let Some(lost) = console.finish() {
        let message = format!("cannot write the output: {lost}");
        return report(&Stop::failed(message, ""), console);
    }
    ended.unwrap_or_else(|error| report(&error, console))
}

fn execute(command: Command, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    match command {
        Command::Workflow(command) => match command {
            WorkflowCommand::Validate(args) => validate::run(&args, console),
            WorkflowCommand::Graph(args) => graph::run(&args, console),
            WorkflowCommand::List(args) => list::run(&args, console),
            WorkflowCommand::Handlers(args) => handlers::run(&args, console),
            WorkflowCommand::Schema => {
                let schema = source::schema();
                console.data(&serde_json::to_string_pretty(&schema)?)?;
                Ok(Exit::Ok)
            }
            WorkflowCommand::Simulate(args) => simulate::run(&args, console),
        },
        Command::Explain { code } => explain::run(&code, console),
        Command::Demo(args) => demo::run(&args, console),
        Command::DeadLetters(command) => dead_letters::run(&command, console),
        Command::Up(args) => roles::up(&args, console),
        Command::Api(args) => roles::api(&args, console),
        Command::Orchestrator(args) => roles::orchestrator(&args, console),
        Command::Projector(args) => roles::projector(&args, console),
        Command::Worker(args) => roles::worker(&args, console),
        Command::Projection(command) => projection::run(&command, console),
        Command::Migrate(args) => roles::migrate(&args, console),
        Command::Job(command) => job::run(&command, console),
        Command::Audit(command) => audit::run(&command, console),
        Command::Archive(command) => archive::run(&command, console),
        Command::At(args) => job::at::run(&args, console),
        Command::Diff(args) => job::diff::run(&args, console),
        Command::Replay(args) => replay::run(&args, console),
        Command::Asset(command) => asset::run(&command, console),
        Command::Key(command) => key::run(&command, console),
        Command::Doctor(args) => doctor::run(&args, console),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "strata", &mut script);
            console.data(&String::from_utf8_lossy(&script))?;
            Ok(Exit::Ok)
        }
        Command::Bench(command) => bench::run(&command, console),
    }
}

/// Prints an error with all its causes, and what to do next.
fn report(error: &anyhow::Error, console: &mut Console<'_>) -> Exit {
    let stop = error.downcast_ref::<Stop>();
    let word = console.look.paint(Paint::Bad, "error:");
    let mut text = format!("{word} {error:#}");
    let next = stop.map_or("strata --help", |stop| &stop.next);
    if !next.is_empty() {
        text.push_str(&format!("\ntry: {next}"));
    }
    // Only data can be lost here, and there is none any more.
    let _ = console.talk(&text);
    stop.map_or(Exit::Usage, |stop| stop.exit)
}

/// Help, the version, or what is wrong with the arguments.
fn show_usage(error: &clap::Error, console: &mut Console<'_>) -> Exit {
    let styled = error.render();
    let text = if console.look.colour {
        styled.ansi().to_string()
    } else {
        styled.to_string()
    };
    // Asked for by the caller, when all is written.
    let _ = if error.use_stderr() {
        console.talk(&text)
    } else {
        console.data(&text)
    };
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Ok
    }
}
