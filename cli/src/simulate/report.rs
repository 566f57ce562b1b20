//! The end of a run: for programs as JSON, for people in a few lines.

use domain::job::JobStatus;
use serde_json::{Value, json};

use super::span::{seconds, span};
use super::timeline::{Bar, End, Line, Timeline, word};
use super::world::Run;
use crate::output::{Look, Paint};
use crate::validate::count;

pub(super) fn json(run: &Run, timeline: &Timeline) -> anyhow::Result<String> {
    let failure = run
        .state
        .failure()
        .map(|(node, failure)| json!({ "node": node, "failure": failure }));
    let nodes: Vec<Value> = timeline.lines.iter().map(node).collect();
    let mut events = Vec::with_capacity(run.log.len());
    for (ms, event) in &run.log {
        let mut event = serde_json::to_value(event)?;
        if let Some(fields) = event.as_object_mut() {
            fields.insert("at".to_owned(), json!(Run::at(*ms)));
        }
        events.push(event);
    }
    let report = json!({
        "status": run.state.status(),
        "result": run.state.result(),
        "failure": failure,
        "duration_seconds": seconds(run.end_ms),
        "nodes": nodes,
        "events": events,
    });
    Ok(serde_json::to_string_pretty(&report)?)
}

fn node(line: &Line) -> Value {
    let lasted = line.started_ms.zip(line.ended_ms).map(|(a, b)| b - a);
    json!({
        "node": line.id,
        "type": line.kind,
        "status": line.status,
        "attempts": line.bars.len(),
        "started_seconds": line.started_ms.map(seconds),
        "duration_seconds": lasted.map(seconds),
        "note": line.note,
        "runs": line.bars.iter().map(bar).collect::<Vec<_>>(),
    })
}

fn bar(bar: &Bar) -> Value {
    let (outcome, class, code) = match &bar.end {
        End::Completed => ("completed", None, None),
        End::Failed { class, code } => ("failed", Some(word(*class)), Some(code)),
        End::Cancelled => ("cancelled", None, None),
    };
    json!({
        "started_seconds": seconds(bar.from_ms),
        "ended_seconds": seconds(bar.to_ms),
        "outcome": outcome,
        "class": class,
        "code": code,
    })
}

/// Status, result and totals.
pub(super) fn summary(run: &Run, timeline: &Timeline, look: Look) -> anyhow::Result<String> {
    let bars = || timeline.lines.iter().flat_map(|line| &line.bars);
    let tasks = timeline
        .lines
        .iter()
        .filter(|line| !line.bars.is_empty())
        .count();
    let failures = bars()
        .filter(|bar| matches!(bar.end, End::Failed { .. }))
        .count();
    let status = run.state.status();
    let paint = match status {
        JobStatus::Completed => Paint::Good,
        _ => Paint::Bad,
    };
    let mut text = format!(
        "job {} after {} of virtual time: {}, {}, {}, {}",
        look.paint(paint, status.word()),
        span(run.end_ms),
        count(tasks, "task"),
        count(bars().count(), "attempt"),
        count(failures, "failure"),
        count(run.log.len(), "event"),
    );
    if let Some((node, failure)) = run.state.failure() {
        let place = node.map_or_else(String::new, |node| format!(" at {node}"));
        text.push_str(&format!(
            "\nfailure{place}: {} {}: {}",
            word(failure.class),
            failure.code,
            failure.message
        ));
    }
    if let Some(result) = run.state.result() {
        let result = serde_json::to_string_pretty(result)?;
        text.push_str(&format!("\nresult: {result}"));
    }
    Ok(text)
}
