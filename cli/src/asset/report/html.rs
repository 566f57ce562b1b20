//! The report as one page of HTML: no scripts, nothing that is loaded, light and dark, and good on paper.

use std::fmt::Write as _;

use super::super::model::{Callback, Version, maker, word};
use super::text::{html, time};
use super::{Look, Report, timeline};

const STYLE: &str = include_str!("page.css");

pub(super) fn write(report: &Report) -> String {
    let asset = &report.asset;
    let title = html(asset.title.as_deref().unwrap_or(&asset.asset_id));
    let mut out =
        String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Asset report {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>",
        html(&asset.asset_id)
    );
    let _ = writeln!(
        out,
        "<header><p class=\"kind\">Asset report</p><h1><bdi>{title}</bdi></h1>\
         <p class=\"id\">{}</p><p class=\"chips\">{}</p></header>",
        html(&asset.asset_id),
        chips(report)
    );
    identity(&mut out, report);
    let _ = writeln!(
        out,
        "<section><h2>Timeline</h2><div class=\"scroll\">{}</div>{}</section>",
        timeline::svg(report),
        legend()
    );
    out.push_str("<section><h2>Revisions</h2>\n");
    if report.more {
        let _ = writeln!(
            out,
            "<p class=\"note\">Only the newest {} are shown.</p>",
            report.versions.len()
        );
    }
    for version in &report.versions {
        revision(&mut out, report, version);
    }
    out.push_str("</section>\n");
    proofs(&mut out, report);
    let _ = writeln!(
        out,
        "<footer>Written at {} from {}. Actors are opaque ids of keys, as the log keeps them.</footer>\n\
         </main>\n</body>\n</html>",
        time(report.written_at),
        html(&report.server)
    );
    out
}

fn chips(report: &Report) -> String {
    let asset = &report.asset;
    let mut chips = String::new();
    let mut chip = |class: &str, text: &str| {
        let _ = write!(chips, "<span class=\"chip {class}\">{}</span>", html(text));
    };
    match asset.revision {
        Some(number) => chip("strong", &format!("revision {number}")),
        None => chip("", "no revision yet"),
    }
    chip(class_of(&asset.approval), &word(&asset.approval));
    chip("", &format!("clearance {}", word(&asset.clearance)));
    chip("", &asset.processing_status);
    if asset.deleted {
        chip("bad", "deleted");
    }
    chips
}

/// The colour that goes with a word.
fn class_of(text: &str) -> &'static str {
    match text {
        "APPROVED" | "INTACT" | "intact" | "delivered" => "good",
        "REJECTED" | "MISSING" | "CHANGED" | "missing" | "changed" | "given_up" => "bad",
        "REVOKED" | "UNVERIFIABLE" | "not verifiable" => "warn",
        _ => "",
    }
}

fn legend() -> &'static str {
    "<p class=\"legend\"><span class=\"key pending\">pending review</span><span class=\"key approved\">approved</span>\
     <span class=\"key rejected\">rejected</span><span class=\"key revoked\">revoked</span>\
     <span>The ring is the current revision; an arc leads from the content that was brought back.</span></p>"
}

fn identity(out: &mut String, report: &Report) {
    let asset = &report.asset;
    out.push_str("<section><h2>Identity</h2><dl>\n");
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{value}</dd>");
    };
    row("platform", html(&asset.platform_id));
    if let Some(refs) = asset.platform_refs.as_object() {
        for (name, value) in refs {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            row(
                "ref",
                format!(
                    "<b><bdi>{}</bdi></b> <bdi>{}</bdi>",
                    html(name),
                    html(&value)
                ),
            );
        }
    }
    row(
        "content hash",
        code(asset.content_hash.as_deref().unwrap_or("none")),
    );
    row(
        "current job",
        code(asset.current_job_id.as_deref().unwrap_or("none")),
    );
    if let Some(failure) = &asset.failure {
        row(
            "failure",
            html(failure["message"].as_str().unwrap_or_default()),
        );
    }
    row("made known", time(asset.created_at));
    row("last changed", time(asset.updated_at));
    row("position", format!("{} in the log", asset.position));
    out.push_str("</dl></section>\n");
}

fn revision(out: &mut String, report: &Report, version: &Version) {
    let row = &version.revision;
    let look = report.look(version);
    let current = if report.asset.revision == Some(row.number) {
        "<span class=\"chip strong\">current</span>"
    } else {
        ""
    };
    let approval = word(&row.approval);
    let _ = writeln!(
        out,
        "<article><h3><span class=\"n\">{}</span> {} {current}<span class=\"chip {}\">{}</span>\
         <span class=\"chip {}\">{}</span></h3>\n<dl>",
        row.number,
        html(&made(version)),
        class_of(&row.approval),
        html(&approval),
        class_of(look.word()),
        timeline::mark(look.word())
    );
    story(out, version);
    let mut say = |name: &str, value: String| {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{value}</dd>");
    };
    for callback in version.job.iter().flat_map(|job| &job.callbacks) {
        say("callback", self::callback(callback));
    }
    say("content hash", code(&row.content_hash));
    if let Some(position) = version.position {
        say("position", format!("{position} in the log"));
    }
    say("artifacts now", html(&look.text()));
    out.push_str("</dl>\n");
    artifacts(out, version, &look);
    out.push_str("</article>\n");
}

/// Who made and reviewed it, and why.
fn story(out: &mut String, version: &Version) {
    let mut say = |name: &str, value: String| {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{value}</dd>");
    };
    say("made at", time(version.revision.created_at));
    if let Some(rollback) = &version.rollback {
        say(
            "reason",
            format!("<bdi class=\"quote\">{}</bdi>", html(&rollback.reason)),
        );
        say("rests on", html(&rollback.basis()));
    }
    say(
        "actor",
        code(version.actor.as_deref().unwrap_or("not known")),
    );
    if let Some(job) = &version.job {
        say(
            "job",
            format!("{} {}", code(&job.job_id), html(&word(&job.status))),
        );
        let workflow = format!("{} v{}", job.workflow_id, job.workflow_version);
        say("workflow", html(&workflow));
        if let Some(lineage) = job.lineage() {
            say("made from", html(&lineage));
        }
        if let Some(asked) = &job.request {
            let who = code(asked.actor.as_deref().unwrap_or("not known"));
            let at = time(asked.submitted_at);
            say(
                "asked for",
                format!("{who} by {} at {at}", code(&asked.request_id)),
            );
        }
    }
    for review in &version.reviews {
        let who = code(review.actor.as_deref().unwrap_or("not known"));
        let reason = review
            .reason
            .as_deref()
            .map(|reason| format!(": <bdi class=\"quote\">{}</bdi>", html(reason)));
        let text = format!(
            "<b>{}</b> by {who} at {}, position {}{}",
            html(&word(&review.decision)),
            time(review.at),
            review.position,
            reason.unwrap_or_default()
        );
        say("review", text);
    }
}

fn made(version: &Version) -> String {
    match &version.rollback {
        Some(rollback) => format!("rolled back to {}", rollback.to),
        None => match &version.job {
            Some(job) => job.workflow_id.clone(),
            None => maker(&version.revision.origin),
        },
    }
}

fn callback(callback: &Callback) -> String {
    let code_of = callback
        .last_status_code
        .map(|code| format!(", last answer {code}"));
    format!(
        "{} <span class=\"chip {}\">{}</span> after {} tries{}",
        code(&callback.url),
        class_of(&callback.status),
        html(&callback.status.replace('_', " ")),
        callback.attempts,
        code_of.unwrap_or_default()
    )
}

fn artifacts(out: &mut String, version: &Version, look: &Look) {
    if version.revision.artifacts.is_empty() {
        return;
    }
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>artifact</th><th>address</th><th class=\"num\">bytes</th>\
         <th>SHA-256 recorded</th><th>now</th></tr></thead><tbody>\n",
    );
    for (index, artifact) in version.revision.artifacts.iter().enumerate() {
        let found = match look {
            Look::Done(check) => check.findings.get(index),
            Look::None(_) => None,
        };
        let (class, text) = match found {
            Some(found) => {
                let why = found.why();
                let sep = if why.is_empty() { "" } else { ": " };
                let text = format!("{}{sep}{why}", word(&found.verdict));
                (class_of(&found.verdict), text)
            }
            None => ("", "not looked at".to_owned()),
        };
        let _ = writeln!(
            out,
            "<tr><td><bdi>{}</bdi></td><td>{}</td><td class=\"num\">{}</td><td>{}</td>\
             <td class=\"{class}\">{}</td></tr>",
            html(&artifact.name),
            code(&artifact.uri),
            artifact.bytes.map(|n| n.to_string()).unwrap_or_default(),
            code(artifact.sha256.as_deref().unwrap_or("none")),
            html(&text)
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn proofs(out: &mut String, report: &Report) {
    out.push_str(
        "<section><h2>How to prove it</h2><p>Every step above is an event of the log, which is signed. A proof of what \
         a job did is one file that anybody can check without access to this installation:</p>\n<pre>",
    );
    for job in report.jobs() {
        let job = html(job);
        let _ = writeln!(out, "strata audit proof {job} --out {job}.proof.json");
    }
    out.push_str("strata audit check FILE --key PUBLIC-KEY</pre></section>\n");
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", html(text))
}
