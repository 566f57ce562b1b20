//! `strata audit check`: what a file proves, without anything else.

use std::fs::File;
use std::io::Read as _;

use domain::event::proof::{self, FILE_BYTES_MAX, Proven};
use serde_json::json;

use super::args::CheckArgs;
use super::known;
use super::verify::chain;
use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::output::{Console, Paint, one_line};

pub(super) fn run(args: &CheckArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let known = args.known.as_deref().map(known).transpose()?;
    let file = read(args, console)?;
    let proven = proof::check(&file, args.key.as_ref()).map_err(|error| failed(&chain(&error)))?;
    if let Some(known) = &known {
        // Its signature was checked with that of the proof, byte by byte the same.
        if proven.extends.as_ref() != Some(&known.note()) {
            return Err(failed(
                "it does not show that the log goes on from the checkpoint you kept",
            ));
        }
    }
    show(&proven, args, console)?;
    Ok(Exit::Ok)
}

fn failed(why: &str) -> anyhow::Error {
    let message = format!("the proof does not hold: {}", one_line(why));
    Stop::with(
        Exit::NotVerified,
        message,
        "ask for the file again, or run `strata audit verify` there",
    )
}

fn read(args: &CheckArgs, console: &mut Console<'_>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more than is taken: then it is known to be too large.
    let limit = u64::try_from(FILE_BYTES_MAX)? + 1;
    let name = args.file.display();
    let done = match args.file.as_os_str() == "-" {
        true => (&mut *console.input).take(limit).read_to_end(&mut bytes),
        false => File::open(&args.file).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    done.map_err(|error| Stop::usage(format!("cannot read {name}: {error}"), ""))?;
    Ok(bytes)
}

fn show(proven: &Proven, args: &CheckArgs, console: &mut Console<'_>) -> anyhow::Result<()> {
    let checkpoint = &proven.checkpoint;
    let at = checkpoint
        .recorded_at()
        .map(|at| at.to_rfc3339())
        .unwrap_or_default();
    let trusted = args.key.is_some();
    if args.output == Format::Json {
        let value = json!({
            "ok": true, "job_id": proven.job_id, "workflow_id": proven.workflow_id,
            "events": proven.events, "first_pos": proven.first_pos, "last_pos": proven.last_pos,
            "ended": proven.end, "recorded_by": at,
            "log": checkpoint.incarnation, "log_size": checkpoint.size,
            "key": proven.key.text(), "fingerprint": proven.key.fingerprint(), "key_is_trusted": trusted,
            "goes_on_from_known": args.known.is_some(),
        });
        console.data(&serde_json::to_string_pretty(&value)?)?;
    } else {
        let word = console.look.paint(Paint::Good, "proven");
        let events = proven.events;
        let how = match &proven.end {
            Some(end) => format!("from its creation to its end (`{end}`)"),
            None => format!("from its creation to version {events}; it had not ended"),
        };
        console.data(&format!(
            "{word}: {job}, a job of workflow {workflow}\n\
             events:     {events}, none left out, {how}\n\
             positions:  {first} to {last}\n\
             recorded:   no later than {at}\n\
             checkpoint: of {size} events, log {log}\n\
             key:        {key}",
            job = proven.job_id,
            workflow = one_line(&proven.workflow_id),
            first = proven.first_pos,
            last = proven.last_pos,
            size = checkpoint.size,
            log = checkpoint.incarnation,
            key = proven.key.fingerprint(),
        ))?;
        if args.known.is_some() {
            console.data("history:    goes on from the checkpoint you kept")?;
        }
    }
    if !trusted {
        console.talk(&format!(
            "The key was taken from the file itself: anybody could have signed it. Compare {} with the one \
             you were given, or name it with --key.",
            proven.key.text()
        ))?;
    }
    Ok(())
}
