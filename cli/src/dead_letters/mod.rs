//! `strata dead-letters`: messages that were put aside, to be looked at, sent again or forgotten.

pub(crate) mod args;

use args::{DeadLetterCommand, LetterArgs, ListArgs};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::Format;
use crate::client::{Client, is_code};
use crate::exit::{Exit, Stop};
use crate::output::{Console, lines_of, lines_shown, one_line};
use crate::runtime;

const LIST: &str = "strata dead-letters list";
/// Letters of one answer.
const PAGE_MAX: i64 = 200;

/// A message that made no sense, with the names for programs.
#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Letter {
    id: i64,
    subject: String,
    reason: String,
    size_bytes: i64,
    received_at: DateTime<Utc>,
    // A list is for looking; `show` has the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(rename(deserialize = "isWhole"))]
    whole: bool,
}

pub(crate) fn run(command: &DeadLetterCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    runtime::block_on(|_| async move {
        match command {
            DeadLetterCommand::List(args) => list(args, console).await,
            DeadLetterCommand::Show(args) => show(args, console).await,
            DeadLetterCommand::Replay(args) => settle(args, "replay", console).await,
            DeadLetterCommand::Discard(args) => settle(args, "discard", console).await,
        }
    })
}

async fn list(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let client = Client::find(&args.stack)?;
    let letters = read(args, &client).await?;
    if args.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&letters)?)?;
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

/// As many as are wanted, in as many answers as that takes.
async fn read(args: &ListArgs, client: &Client) -> anyhow::Result<Vec<Letter>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        dead_letters: Vec<Letter>,
    }
    let document = "query($first: Int, $before: Int) { deadLetters(first: $first, before: $before) { \
         id subject reason sizeBytes receivedAt isWhole } }";
    let (mut all, mut before) = (Vec::new(), args.before);
    loop {
        let had = i64::try_from(all.len()).unwrap_or(i64::MAX);
        let first = (args.limit - had).min(PAGE_MAX);
        if first <= 0 {
            return Ok(all);
        }
        let page: Answer = client
            .ask(document, json!({"first": first, "before": before}))
            .await?;
        let full = i64::try_from(page.dead_letters.len()).is_ok_and(|count| count == first);
        all.extend(page.dead_letters);
        before = all.last().map(|letter: &Letter| letter.id);
        if !full {
            return Ok(all);
        }
    }
}

async fn show(args: &LetterArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        dead_letter: Option<Letter>,
    }
    let client = Client::find(&args.stack)?;
    let document = "query($id: Int!) { deadLetter(id: $id) { \
         id subject reason sizeBytes receivedAt payload isWhole } }";
    let answer: Answer = client.ask(document, json!({"id": args.id})).await?;
    let letter = answer.dead_letter.ok_or_else(|| none(args.id))?;
    match args.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&letter)?)?,
        Format::Table => {
            let whole = if letter.whole { "" } else { ", cut or altered" };
            console.data(&format!(
                "id       {}\nreceived {}\nsubject  {}\nreason   {}\nbytes    {}{whole}\n\n{}",
                letter.id,
                letter.received_at.format("%Y-%m-%d %H:%M:%S UTC"),
                one_line(&letter.subject),
                one_line(&letter.reason),
                letter.size_bytes,
                lines_shown(letter.payload.as_deref().unwrap_or_default())
            ))?;
        }
    }
    Ok(Exit::Ok)
}

/// Sends it again, or forgets it.
async fn settle(args: &LetterArgs, verb: &str, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    #[derive(Deserialize)]
    struct Answer {
        done: Outcome,
    }
    #[derive(Deserialize)]
    struct Outcome {
        outcome: String,
    }
    let client = Client::find(&args.stack)?;
    let document =
        format!("mutation($id: Int!) {{ done: {verb}DeadLetter(id: $id) {{ outcome }} }}");
    let asked = client
        .ask::<Answer>(&document, json!({"id": args.id}))
        .await;
    let word = asked.map(|answer| answer.done.outcome).map_err(|error| {
        if is_code(&error, "NOT_FOUND") {
            return none(args.id);
        }
        if is_code(&error, "NOT_WHOLE") {
            let next = format!("strata dead-letters show {}", args.id);
            return Stop::conflict(format!("dead letter {}: {error}", args.id), next);
        }
        error
    })?;
    match args.output {
        Format::Json => {
            let said: Value = json!({"id": args.id, "outcome": word});
            console.data(&serde_json::to_string_pretty(&said)?)?;
        }
        Format::Table => console.talk(&format!("dead letter {} is {word}", args.id))?,
    }
    Ok(Exit::Ok)
}

fn none(id: i64) -> anyhow::Error {
    Stop::not_found(format!("there is no dead letter {id}"), LIST)
}
