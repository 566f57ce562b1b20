//! The report as Markdown, as issue trackers show it.

use std::fmt::Write as _;

use super::super::model::{Version, maker, word};
use super::text::{markdown, plain, time};
use super::{Look, Report, timeline};

pub(super) fn write(report: &Report) -> String {
    let asset = &report.asset;
    let title = asset.title.as_deref().unwrap_or(&asset.asset_id);
    let mut out = format!("# Asset report: {}\n\n", markdown(title));
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "Written at {} from {}.\n",
        time(report.written_at),
        span(&report.server)
    );
    identity(&mut out, report);
    let _ = writeln!(
        out,
        "## Timeline\n\n```text\n{}```\n",
        timeline::lines(report)
    );
    out.push_str("## Revisions\n\n");
    if report.more {
        let _ = writeln!(
            out,
            "Only the newest {} are shown.\n",
            report.versions.len()
        );
    }
    for version in &report.versions {
        revision(&mut out, report, version);
    }
    proofs(&mut out, report);
    out
}

fn identity(out: &mut String, report: &Report) {
    let asset = &report.asset;
    let revision = asset.revision.map(|n| n.to_string()).unwrap_or_default();
    let deleted = if asset.deleted { "yes" } else { "no" };
    let rows = [
        ("asset", span(&asset.asset_id)),
        ("platform", span(&asset.platform_id)),
        ("refs", span(&asset.platform_refs.to_string())),
        ("current revision", revision),
        (
            "content hash",
            span(asset.content_hash.as_deref().unwrap_or("none")),
        ),
        ("approval", word(&asset.approval)),
        ("clearance", word(&asset.clearance)),
        ("processing", markdown(&asset.processing_status)),
        (
            "current job",
            span(asset.current_job_id.as_deref().unwrap_or("none")),
        ),
        ("deleted", deleted.to_owned()),
        ("made known", time(asset.created_at)),
        ("last changed", time(asset.updated_at)),
        ("position in the log", asset.position.to_string()),
    ];
    out.push_str("| | |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(out, "| {name} | {value} |");
    }
    out.push('\n');
}

fn revision(out: &mut String, report: &Report, version: &Version) {
    let row = &version.revision;
    let current = if report.asset.revision == Some(row.number) {
        ", current"
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "### Revision {}: {}{current}\n",
        row.number,
        word(&row.approval)
    );
    let mut say = |name: &str, value: String| {
        let _ = writeln!(out, "- {name}: {value}");
    };
    say("made at", time(row.created_at));
    say("made by", span(&maker(&row.origin)));
    say(
        "actor",
        span(version.actor.as_deref().unwrap_or("not known")),
    );
    for line in version.why() {
        say("why", markdown(&line));
    }
    say("content hash", span(&row.content_hash));
    if let Some(position) = version.position {
        say("position in the log", position.to_string());
    }
    let look = report.look(version);
    say("artifacts now", markdown(&look.text()));
    for callback in version.job.iter().flat_map(|job| &job.callbacks) {
        let text = format!(
            "{} {} after {} tries",
            span(&callback.url),
            markdown(&callback.status),
            callback.attempts
        );
        say("callback", text);
    }
    artifacts(out, version, &look);
}

fn artifacts(out: &mut String, version: &Version, look: &Look) {
    if version.revision.artifacts.is_empty() {
        out.push('\n');
        return;
    }
    out.push_str("\n| artifact | address | bytes | SHA-256 | now |\n|---|---|---|---|---|\n");
    for (index, artifact) in version.revision.artifacts.iter().enumerate() {
        let found = match look {
            Look::Done(check) => check.findings.get(index).map(|found| {
                let why = found.why();
                let sep = if why.is_empty() { "" } else { ": " };
                format!("{}{sep}{}", word(&found.verdict), markdown(&why))
            }),
            Look::None(_) => None,
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            markdown(&artifact.name),
            span(&artifact.uri),
            artifact.bytes.map(|n| n.to_string()).unwrap_or_default(),
            span(artifact.sha256.as_deref().unwrap_or("none")),
            found.unwrap_or_else(|| "not looked at".to_owned())
        );
    }
    out.push('\n');
}

fn proofs(out: &mut String, report: &Report) {
    out.push_str(
        "## How to prove it\n\nEvery step above is an event of the log, which is signed. A proof of what a job did is \
         one file that anybody can check without access to this installation:\n\n```sh\n",
    );
    for job in report.jobs() {
        let _ = writeln!(out, "strata audit proof {job} --out {job}.proof.json");
    }
    out.push_str("strata audit check FILE --key PUBLIC-KEY\n```\n");
}

/// A span of code.
fn span(text: &str) -> String {
    format!("`{}`", plain(text))
}
