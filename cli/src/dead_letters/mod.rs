//! `strata dead-letters`: messages that were put aside, to be looked at, sent again or forgotten.

pub(crate) mod args;

use args::{DeadLetterCommand, LetterArgs, ListArgs};
use async_nats::jetstream::context::PublishErrorKind;
use bus::Bus;
use projections::dead_letters::{self as kept, DeadLetter};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::args::Format;
use crate::exit::{Exit, Stop};
use crate::job::client;
use crate::output::{Console, lines_of, lines_shown, one_line};
use crate::roles::stack::Stack;
use crate::runtime;

const LIST: &str = "strata dead-letters list";

pub(crate) fn run(command: &DeadLetterCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    runtime::block_on(|_| async move {
        match command {
            DeadLetterCommand::List(args) => list(args, console).await,
            DeadLetterCommand::Show(args) => show(args, console).await,
            DeadLetterCommand::Replay(args) => replay(args, console).await,
            DeadLetterCommand::Discard(args) => discard(args, console).await,
        }
    })
}

async fn list(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let pool = client::read(&args.stack).await?;
    let letters = kept::list(&pool, args.before, args.limit).await;
    let letters = letters.map_err(client::unreadable)?;
    if args.output == Format::Json {
        // A list is for looking; `show` has the content.
        let lean = |letter: &DeadLetter| {
            let mut row = json_of(letter);
            row.as_object_mut().map(|row| row.remove("payload"));
            row
        };
        let all: Vec<_> = letters.iter().map(lean).collect();
        console.data(&serde_json::to_string_pretty(&all)?)?;
        return Ok(Exit::Ok);
    }
    if letters.is_empty() {
        console.talk("no dead letters")?;
        return Ok(Exit::Ok);
    }
    let mut table = console
        .look
        .table(&["ID", "RECEIVED", "SUBJECT", "BYTES", "REASON"]);
    for letter in &letters {
        table.add_row([
            letter.id.to_string(),
            letter.received_at.format("%Y-%m-%d %H:%M:%S").to_string(),
            one_line(&letter.subject),
            letter.size_bytes.to_string(),
            one_line(&letter.reason),
        ]);
    }
    console.data(&lines_of(&table))?;
    Ok(Exit::Ok)
}

async fn show(args: &LetterArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let pool = client::read(&args.stack).await?;
    let letter = find(&pool, args.id).await?;
    match args.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&json_of(&letter))?)?,
        Format::Table => {
            let whole = if is_whole(&letter) {
                ""
            } else {
                ", cut or altered"
            };
            console.data(&format!(
                "id       {}\nreceived {}\nsubject  {}\nreason   {}\nbytes    {}{whole}\n\n{}",
                letter.id,
                letter.received_at.format("%Y-%m-%d %H:%M:%S UTC"),
                one_line(&letter.subject),
                one_line(&letter.reason),
                letter.size_bytes,
                lines_shown(&String::from_utf8_lossy(&letter.payload))
            ))?;
        }
    }
    Ok(Exit::Ok)
}

async fn replay(args: &LetterArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let pool = client::read(&args.stack).await?;
    let letter = find(&pool, args.id).await?;
    if !is_whole(&letter) {
        let message = format!(
            "dead letter {} was cut or altered when it was kept, so it cannot be sent as it was",
            args.id
        );
        return Err(Stop::conflict(
            message,
            format!("strata dead-letters show {}", args.id),
        ));
    }
    let bus = Stack::find(&args.stack)?.bus("cli").await?;
    send(&bus, &letter).await?;
    // Only now: whatever happens before, it is not lost.
    kept::discard(&pool, args.id)
        .await
        .map_err(client::unreadable)?;
    done(args, "replayed", console)
}

async fn discard(args: &LetterArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let pool = client::read(&args.stack).await?;
    let discarded = kept::discard(&pool, args.id).await;
    if !discarded.map_err(client::unreadable)? {
        return Err(none(args.id));
    }
    done(args, "discarded", console)
}

/// To the stream that keeps the subject, or to whoever listens now.
async fn send(bus: &Bus, letter: &DeadLetter) -> anyhow::Result<()> {
    let refused = |reason: String| {
        let message = format!("the message was not sent to {}: {reason}", letter.subject);
        Stop::unreachable(message, "strata doctor")
    };
    let (subject, payload) = (letter.subject.clone(), letter.payload.clone());
    let published = bus
        .jetstream
        .publish(subject.clone(), payload.clone().into());
    let stored = match published.await {
        Ok(stored) => stored.await,
        Err(error) => Err(error),
    };
    match stored {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == PublishErrorKind::StreamNotFound => {}
        Err(error) => return Err(refused(error.to_string())),
    }
    let sent = bus.client.publish(subject, payload.into()).await;
    sent.map_err(|error| refused(error.to_string()))?;
    let flushed = bus.client.flush().await;
    flushed.map_err(|error| refused(error.to_string()))
}

async fn find(pool: &PgPool, id: i64) -> anyhow::Result<DeadLetter> {
    let found = kept::show(pool, id).await.map_err(client::unreadable)?;
    found.ok_or_else(|| none(id))
}

fn none(id: i64) -> anyhow::Error {
    Stop::not_found(format!("there is no dead letter {id}"), LIST)
}

/// Whether what is kept is what was sent: cutting changes the length, and bytes that were no text
/// have left a mark.
fn is_whole(letter: &DeadLetter) -> bool {
    let kept = i64::try_from(letter.payload.len()).ok();
    let text = std::str::from_utf8(&letter.payload);
    kept == Some(letter.size_bytes) && text.is_ok_and(|text| !text.contains('\u{fffd}'))
}

fn json_of(letter: &DeadLetter) -> Value {
    json!({
        "id": letter.id, "subject": letter.subject, "reason": letter.reason,
        "size_bytes": letter.size_bytes, "received_at": letter.received_at,
        "payload": String::from_utf8_lossy(&letter.payload), "whole": is_whole(letter),
    })
}

fn done(args: &LetterArgs, word: &str, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    match args.output {
        Format::Json => {
            let said = json!({"id": args.id, "outcome": word});
            console.data(&serde_json::to_string_pretty(&said)?)?;
        }
        Format::Table => console.talk(&format!("dead letter {} is {word}", args.id))?,
    }
    Ok(Exit::Ok)
}
