//! `strata asset report`: everything that is known of an asset in one file, to attach to an incident.
//!
//! The file needs nothing else and loads nothing. Whatever comes from outside (titles, refs, reasons, names) is text
//! in it and nothing more; characters that nobody sees, or that turn text around, are shown by their numbers.

mod html;
mod markdown;
mod text;
mod timeline;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

use super::args::{ReportArgs, ReportFormat};
use super::history::{self, History};
use super::look::{self, Check};
use super::model::{Asset, Version};
use crate::client::{Client, is_code};
use crate::exit::{Exit, Stop};
use crate::output::Console;
use crate::when;

/// Different contents that are looked at for one report; each may be large.
const LOOKS_MAX: usize = 20;

/// What a report says.
struct Report {
    asset: Asset,
    /// The newest first.
    versions: Vec<Version>,
    /// There are older ones.
    more: bool,
    /// By the number of the revision.
    looks: BTreeMap<i32, Look>,
    written_at: DateTime<Utc>,
    server: String,
}

/// What is known of the artifacts of a revision now.
#[derive(Clone)]
enum Look {
    Done(Check),
    /// Nobody looked, and why.
    None(String),
}

pub(super) async fn run(
    args: &ReportArgs,
    stop: &CancellationToken,
    console: &mut Console<'_>,
) -> anyhow::Result<Exit> {
    let client = Client::find(&args.of.stack)?;
    let id = args.of.asset;
    let History {
        asset,
        versions,
        next,
    } = history::read(&client, id, args.limit, None).await?;
    let looks = if args.no_check {
        BTreeMap::new()
    } else {
        looks(&client, args, &versions, stop, console).await?
    };
    let report = Report {
        asset,
        versions,
        more: next.is_some(),
        looks,
        written_at: when::now(),
        server: client.shown(),
    };
    let text = match args.format {
        ReportFormat::Markdown => markdown::write(&report),
        ReportFormat::Html => html::write(&report),
    };
    match &args.out {
        None => console.data(&text)?,
        Some(path) => {
            std::fs::write(path, text).map_err(|error| {
                let message = format!("cannot write `{}`: {error}", path.display());
                Stop::failed(message, "choose another file with --out")
            })?;
            console.talk(&format!("the report is in {}", path.display()))?;
        }
    }
    Ok(Exit::Ok)
}

/// Has all contents looked at, each once: a rollback has that of an older revision.
async fn looks(
    client: &Client,
    args: &ReportArgs,
    versions: &[Version],
    stop: &CancellationToken,
    console: &mut Console<'_>,
) -> anyhow::Result<BTreeMap<i32, Look>> {
    let mut shared: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let listing = |version: &&Version| !version.revision.artifacts.is_empty();
    for version in versions.iter().filter(listing) {
        let source = source(versions, version);
        shared.entry(source).or_default().push(version.number());
    }
    let mut begun = Vec::new();
    for (source, numbers) in shared.into_iter().rev().take(LOOKS_MAX) {
        let revision = u32::try_from(source).unwrap_or_default();
        let job = look::begin(client, args.of.asset, revision).await;
        begun.push((numbers, job.map_err(may_not_look)?));
    }
    if !begun.is_empty() {
        let count = begun.len();
        console.talk(&format!(
            "{count} jobs look at the artifacts; --no-check leaves that out"
        ))?;
    }
    let mut all = BTreeMap::new();
    for (numbers, job) in begun {
        let look = match look::wait(client, &job, stop, console).await {
            Ok(check) => Look::Done(check),
            Err(error) if stop.is_cancelled() => return Err(error),
            Err(error) => Look::None(error.to_string()),
        };
        for number in numbers {
            all.insert(number, look.clone());
        }
    }
    Ok(all)
}

/// The revision whose content it is: its own, or what it was rolled back to, and so on.
fn source(versions: &[Version], version: &Version) -> i32 {
    let mut number = version.number();
    let origin = |number: i32| {
        let found = versions.iter().find(|one| one.number() == number);
        let to = found
            .and_then(|one| one.rollback.as_ref())
            .map(|one| one.to);
        // It goes back only, so that it comes to an end.
        to.and_then(|to| i32::try_from(to).ok())
            .filter(|to| *to < number)
    };
    while let Some(earlier) = origin(number) {
        number = earlier;
    }
    number
}

fn may_not_look(error: anyhow::Error) -> anyhow::Error {
    if is_code(&error, "FORBIDDEN") {
        let message = format!("{error}; without that role nobody looks at artifacts for you");
        return Stop::usage(message, "leave it out with --no-check");
    }
    error
}

impl Report {
    /// What is known of the artifacts of a revision now.
    fn look(&self, version: &Version) -> Look {
        let known = self.looks.get(&version.number()).cloned();
        known.unwrap_or_else(|| {
            Look::None(if version.revision.artifacts.is_empty() {
                "it lists no artifacts".to_owned()
            } else {
                "nobody looked for this report".to_owned()
            })
        })
    }

    /// The jobs whose events are the evidence: makers, and those that looked before a rollback.
    fn jobs(&self) -> Vec<&str> {
        let mut jobs = Vec::new();
        for version in &self.versions {
            let made = version.job.as_ref().map(|job| job.job_id.as_str());
            let looked = version.rollback.as_ref();
            let looked = looked.and_then(|rollback| rollback.checked_by.as_deref());
            jobs.extend(made.into_iter().chain(looked));
        }
        jobs
    }
}

impl Look {
    /// One word for all of it: the worst that was found.
    fn word(&self) -> &'static str {
        match self {
            Self::Done(check) if check.missing > 0 => "missing",
            Self::Done(check) if check.changed > 0 => "changed",
            Self::Done(check) if check.unverifiable > 0 => "not verifiable",
            Self::Done(_) => "intact",
            Self::None(_) => "not looked at",
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Done(check) => format!(
                "{}, by {} at {}",
                check.summary(),
                check.job_id,
                text::time(check.ended_at)
            ),
            Self::None(why) => why.clone(),
        }
    }
}
