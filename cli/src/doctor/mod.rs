//! `strata doctor`: whether this machine has what Strata needs, and whether what runs is well.
//!
//! It changes nothing. Every check says ok, warn or fail as a word, and what to do about it.

mod api;
mod health;
mod machine;
mod stack;

use comfy_table::{Cell, Color};
use serde::Serialize;
use serde_json::json;

use crate::args::{DoctorArgs, Format};
use crate::exit::Exit;
use crate::output::{Console, Look, lines_of, one_line};
use crate::services::{Context, DATABASE_URL, NATS_URL, from_env};
use crate::{logging, runtime};

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    name: &'static str,
    result: Verdict,
    detail: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    remedy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

/// Runs all checks and prints them.
pub(crate) fn run(args: &DoctorArgs, console: &mut Console<'_>) -> anyhow::Result<Exit> {
    logging::init(&args.log);
    let (database, nats) = (from_env(DATABASE_URL), from_env(NATS_URL));
    let mut checks = Vec::new();
    // What others run needs nothing here.
    if database.is_none() {
        checks.push(machine::postgres(&args.data_dir));
    }
    if nats.is_none() {
        checks.push(machine::nats());
    }
    checks.push(machine::writable(&args.data_dir));
    checks.push(machine::space(&args.data_dir));

    let noted = match Context::read(&args.data_dir) {
        Ok(noted) => noted,
        Err(error) => {
            let remedy = "run it as the user who started Strata, or give the addresses";
            checks.push(Check::fail("context", error.to_string(), remedy));
            None
        }
    };
    let api = api::found(noted.as_ref(), &args.data_dir);
    let is_unknown = checks.iter().any(|check| check.name == "context");
    let noted = noted
        .map(|noted| (noted.database_url, noted.nats_url))
        .unzip();
    let (database, nats) = (database.or(noted.0), nats.or(noted.1));
    if database.is_none() && nats.is_none() && !is_unknown {
        let detail = format!("nothing runs on {}", args.data_dir.display());
        checks.push(Check::ok("stack", detail));
    }
    checks.extend(runtime::block_on(|_| async {
        let mut checks = stack::checks(database.as_deref(), nats.as_deref()).await;
        checks.extend(api::checks(api).await);
        Ok(checks)
    })?);

    let well = checks.iter().all(|check| check.result != Verdict::Fail);
    match args.output {
        Format::Table => console.data(&table(&checks, console.look))?,
        Format::Json => {
            let report = json!({
                "ok": well,
                "database_url": database,
                "nats_url": nats,
                "checks": checks,
            });
            console.data(&serde_json::to_string_pretty(&report)?)?;
        }
    }
    Ok(if well { Exit::Ok } else { Exit::Unreachable })
}

fn table(checks: &[Check], look: Look) -> String {
    let mut table = look.table(&["CHECK", "RESULT", "DETAIL"]);
    for check in checks {
        // Coloured by the table, which must know how wide the word is.
        let (colour, word) = match check.result {
            Verdict::Ok => (Color::Green, "ok"),
            Verdict::Warn => (Color::Yellow, "warn"),
            Verdict::Fail => (Color::Red, "fail"),
        };
        table.add_row([
            Cell::new(check.name),
            Cell::new(word).fg(colour),
            Cell::new(one_line(&check.detail)),
        ]);
        if !check.remedy.is_empty() {
            table.add_row(["", "", &format!("try: {}", check.remedy)]);
        }
    }
    lines_of(&table)
}

impl Check {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            name,
            result: Verdict::Ok,
            detail: detail.into(),
            remedy: String::new(),
        }
    }

    fn warn(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            result: Verdict::Warn,
            remedy: remedy.into(),
            ..Self::ok(name, detail)
        }
    }

    /// All is well unless there is `some` of it.
    fn unless(some: bool, name: &'static str, detail: String, remedy: &str) -> Self {
        if some {
            Self::warn(name, detail, remedy)
        } else {
            Self::ok(name, "none")
        }
    }

    fn fail(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            result: Verdict::Fail,
            remedy: remedy.into(),
            ..Self::ok(name, detail)
        }
    }

    /// An error of another part, with its own remedy.
    fn from_error(name: &'static str, error: &anyhow::Error) -> Self {
        let stop = error.downcast_ref::<crate::exit::Stop>();
        let remedy = stop.map_or_else(String::new, |stop| stop.next.clone());
        Self::fail(name, error.to_string(), remedy)
    }
}
