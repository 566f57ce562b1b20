//! `strata key`: who may use the API. Over the API itself, or on the database for the first key of an installation.

pub(crate) mod args;
mod database;

use args::{CreateArgs, KeyCommand, ListArgs, RevokeArgs, Role, SignInArgs};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::Format;
use crate::client::{Client, is_code};
use crate::exit::{Exit, Stop};
use crate::output::{Console, lines_of, one_line};
use crate::runtime;

/// Fields of a [`Key`].
const KEY: &str =
    "id orgId label role operator prefix createdBy createdAt expiresAt revokedAt lastUsedAt";

/// A key without its secret, with the names for programs.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Key {
    #[serde(rename(deserialize = "id"))]
    key_id: String,
    org_id: String,
    label: String,
    role: String,
    operator: bool,
    prefix: String,
    created_by: String,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
    last_used_at: Option<DateTime<Utc>>,
}

/// A key with its secret. Without `Debug`, so that it is printed only on purpose.
#[derive(Deserialize)]
struct Made {
    key: Key,
    token: String,
}

pub(crate) fn run(command: &KeyCommand, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    runtime::block_on(|_| async move {
        match command {
            KeyCommand::Create(args) => create(args, console).await,
            KeyCommand::List(args) => list(args, console).await,
            KeyCommand::Revoke(args) => revoke(args, console).await,
            KeyCommand::SignIn(args) => sign_in(args, console).await,
        }
    })
}

async fn create(args: &CreateArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let made = if args.place.database {
        database::create(args).await?
    } else {
        let client = Client::find(&args.place.client)?;
        let document = format!(
            "mutation($label: String!, $role: Role!, $org: String, $operator: Boolean!, $expires: Int) {{ \
                 done: createKey(label: $label, role: $role, org: $org, operator: $operator, \
                     expiresInSeconds: $expires) {{ key {{ {KEY} }} token }} }}"
        );
        let variables = json!({
            "label": args.label, "role": args.role.word().to_uppercase(), "org": args.org,
            "operator": args.operator, "expires": args.expires.map(|time| time.as_secs()),
        });
        let answer: Done<Made> = client.ask(&document, variables).await?;
        answer.done
    };
    let key = made.key.lower();
    match args.place.output {
        Format::Json => {
            let all = json!({"key": key, "token": made.token});
            console.data(&serde_json::to_string_pretty(&all)?)?;
        }
        Format::Table => {
            console.data(&made.token)?;
            console.talk(&format!(
                "{} is a key of {} with the role {}; it is not shown again",
                key.key_id, key.org_id, key.role
            ))?;
        }
    }
    Ok(Exit::Ok)
}

async fn list(args: &ListArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    #[derive(Deserialize)]
    struct Answer {
        keys: Vec<Key>,
    }
    let keys = if args.place.database {
        database::list(args).await?
    } else {
        let client = Client::find(&args.place.client)?;
        let document =
            format!("query($all: Boolean!) {{ keys(allOrganisations: $all) {{ {KEY} }} }}");
        let answer: Answer = client.ask(&document, json!({"all": args.all})).await?;
        answer.keys
    };
    let keys: Vec<Key> = keys.into_iter().map(Key::lower).collect();
    if args.place.output == Format::Json {
        console.data(&serde_json::to_string_pretty(&keys)?)?;
        return Ok(Exit::Ok);
    }
    let header = [
        "ID",
        "BEGINS",
        "ORG",
        "ROLE",
        "LABEL",
        "CREATED",
        "LAST USED",
        "STATE",
    ];
    let mut table = console.look.table(&header);
    let day = |time: DateTime<Utc>| time.format("%Y-%m-%d %H:%M").to_string();
    for key in &keys {
        let operator = if key.operator { ", operator" } else { "" };
        let state = match (key.revoked_at, key.expires_at) {
            (Some(at), _) => format!("revoked {}", day(at)),
            (None, Some(at)) => format!("until {}", day(at)),
            (None, None) => "valid".to_owned(),
        };
        table.add_row([
            key.key_id.clone(),
            key.prefix.clone(),
            key.org_id.clone(),
            format!("{}{operator}", key.role),
            one_line(&key.label),
            day(key.created_at),
            key.last_used_at.map_or_else(|| "never".to_owned(), day),
            state,
        ]);
    }
    console.data(&lines_of(&table))?;
    Ok(Exit::Ok)
}

async fn revoke(args: &RevokeArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    let none = || Stop::not_found(format!("there is no key `{}`", args.id), "strata key list");
    let key = if args.place.database {
        database::revoke(args).await?.ok_or_else(none)?
    } else {
        let client = Client::find(&args.place.client)?;
        let document = format!("mutation($id: String!) {{ done: revokeKey(id: $id) {{ {KEY} }} }}");
        let asked = client
            .ask::<Done<Key>>(&document, json!({"id": args.id}))
            .await;
        let answer = asked.map_err(|error| match is_code(&error, "NOT_FOUND") {
            true => none(),
            false => error,
        })?;
        answer.done
    };
    let key = key.lower();
    match args.place.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&key)?)?,
        Format::Table => console.talk(&format!("{} is revoked", key.key_id))?,
    }
    Ok(Exit::Ok)
}

async fn sign_in(args: &SignInArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    #[derive(Deserialize)]
    struct Link {
        url: String,
    }
    let client = Client::find(&args.client)?;
    let answer: Done<Link> = client
        .ask("mutation { done: signIn { url } }", Value::Null)
        .await?;
    let url = answer.done.url;
    match args.output {
        Format::Json => console.data(&serde_json::to_string_pretty(&json!({"url": url}))?)?,
        Format::Table => {
            console.data(&url)?;
            console.talk("open it in a browser, once within 15 minutes")?;
        }
    }
    Ok(Exit::Ok)
}

#[derive(Deserialize)]
struct Done<T> {
    done: T,
}

impl Key {
    /// The role in the word that is typed, wherever it came from.
    fn lower(self) -> Self {
        Self {
            role: self.role.to_lowercase(),
            ..self
        }
    }
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Admin => "admin",
        }
    }
}
