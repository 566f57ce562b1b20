//! Handlers for examples, tests and drills. They touch nothing outside their task.

use super::{LIGHT, between, flag, integer, list, map, maybe, number, or, required, text};
use crate::definition::model::Input;
use crate::failure::FailureClass;
use crate::handler::{Handler, Output};

pub(super) fn all() -> Vec<Handler> {
    vec![
        echo(),
        flaky_echo(),
        hello_world(),
        hello_world_greeting(),
        hello_world_reply(),
        hello_world_summary(),
        sleep(),
        fail(),
        multi_phase(),
        size_check(),
        chunk_processor(),
    ]
}

fn echo() -> Handler {
    Handler::new("echo", LIGHT, 300, "Returns its parameters.")
        .idempotent()
        .open_params()
        .param(
            "steps",
            or(
                between(integer("Steps to take, each with a checkpoint."), 1, 1_000),
                1,
            ),
        )
        .param(
            "step_delay",
            or(between(number("Seconds to wait in each step."), 0, 60), 0),
        )
        .output("echoed_params", map("All parameters as they were given."))
}

fn flaky_echo() -> Handler {
    let about = "Returns its parameters, or fails as transient: the subject of retry tests.";
    Handler::new("flaky_echo", LIGHT, 300, about)
        .open_params()
        .param(
            "failure_rate",
            or(between(number("Share of attempts that fail."), 0, 1), 0.5),
        )
        .param(
            "seed",
            or(integer("The same seed fails the same attempts."), 0),
        )
        .output("echoed_params", map("All parameters as they were given."))
        .output("attempts", integer("The attempt that succeeded, from 1."))
}

fn hello_world() -> Handler {
    Handler::new("hello_world", LIGHT, 60, "Greets someone by name.")
        .idempotent()
        .param("name", or(between(text("Whom to greet."), 1, 200), "World"))
        .output("greeting", text("Such as `Hello, World!`."))
        .output("next_stage_params", maybe(handover()))
}

fn hello_world_greeting() -> Handler {
    Handler::new(
        "hello_world_greeting",
        LIGHT,
        60,
        "Speaks one of several greetings.",
    )
    .idempotent()
    .param(
        "index",
        required(between(
            integer("Number of the greeting, from 0."),
            0,
            100_000,
        )),
    )
    .param(
        "message",
        or(between(text("What to say."), 1, 1_000), "Hello"),
    )
    .output("greeting", text("The message with its number."))
    .output("next_stage_params", handover())
}

fn hello_world_reply() -> Handler {
    Handler::new("hello_world_reply", LIGHT, 60, "Answers one greeting.")
        .idempotent()
        .param("greeting", required(text("The greeting to answer.")))
        .param(
            "index",
            or(
                between(integer("Number of the greeting, from 0."), 0, 100_000),
                0,
            ),
        )
        .output("reply", text("The answer; it quotes the greeting."))
        .output("index", integer("Number of the greeting."))
}

fn hello_world_summary() -> Handler {
    Handler::new(
        "hello_world_summary",
        LIGHT,
        60,
        "Counts the replies: a fan-in by handler.",
    )
    .idempotent()
    .param(
        "previous_results",
        list("Outputs of all replies; the engine puts them in."),
    )
    .output("replies", integer("How many replies there were."))
    .output("summary", text("A sentence about them."))
}

/// What the task of the same index in the next stage reads as `next_stage_params`.
fn handover() -> Output {
    Output::object(
        "Handed to the task of the same index in the next stage.",
        &[
            ("greeting", text("The greeting that was spoken.")),
            ("index", integer("Its number, from 0.")),
        ],
    )
}

fn sleep() -> Handler {
    Handler::new(
        "sleep",
        LIGHT,
        3_700,
        "Does nothing for a while; cancel ends it at once.",
    )
    .idempotent()
    .param(
        "duration_seconds",
        or(between(number("How long to sleep."), 0, 3_600), 1),
    )
    .output("slept_seconds", number("How long it slept."))
}

fn fail() -> Handler {
    // As they are written in events.
    let classes = FailureClass::ALL
        .iter()
        .filter_map(|class| serde_json::to_value(class).ok());
    let class = Input {
        choices: Some(classes.collect()),
        ..text("Class of the failure.")
    };
    Handler::new("fail", LIGHT, 60, "Always fails, in the way it is told to.")
        .idempotent()
        .param(
            "error_message",
            or(text("Message of the failure."), "failed as asked"),
        )
        .param("class", or(class, "permanent"))
}

fn multi_phase() -> Handler {
    Handler::new(
        "multi_phase",
        LIGHT,
        600,
        "Passes through phases and saves a checkpoint after each.",
    )
    .idempotent()
    .param(
        "phases",
        or(between(integer("Number of phases."), 1, 1_000), 3),
    )
    .param(
        "phase_delay",
        or(between(number("Seconds per phase."), 0, 60), 0),
    )
    .output(
        "phases_completed",
        integer("Phases that are done, those before a restart included."),
    )
    .output("resumed", flag("Whether it went on from a checkpoint."))
}

fn size_check() -> Handler {
    Handler::new(
        "size_check",
        LIGHT,
        60,
        "Sorts a size into light, medium or heavy.",
    )
    .idempotent()
    .param(
        "size_bytes",
        required(between(integer("Size to judge."), 0, 9e15)),
    )
    .output(
        "category",
        text("`light` below 100 MB, `medium` below 1 GB, else `heavy`."),
    )
    .output("size_mb", number("The size in megabytes."))
}

fn chunk_processor() -> Handler {
    Handler::new(
        "chunk_processor",
        LIGHT,
        300,
        "Processes one chunk of a list.",
    )
    .idempotent()
    .param("chunk_id", required(integer("Number of the chunk.")))
    .param(
        "chunk_data",
        or(list("Items of the chunk."), Vec::<String>::new()),
    )
    .output("chunk_id", integer("Number of the chunk."))
    .output("processed", integer("How many items it had."))
}
