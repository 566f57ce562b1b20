//! The revisions of an asset as a line in time: what was made, reviewed and brought back.
//!
//! A picture in SVG that takes its colours from the page around it, and the same as lines of text. States are told
//! by words too, never by colour alone.

use std::fmt::Write as _;

use chrono::TimeDelta;

use super::super::model::{Version, maker, word};
use super::text::{html, plain, time};
use super::{Look, Report};

/// Revisions in the picture; the newest.
const SHOWN_MAX: usize = 24;
const STEP: usize = 132;
const LEFT: usize = 76;
const RADIUS: usize = 19;
/// Room below the line: times, words and what was found.
const BELOW: usize = 104;

/// A revision in the picture.
struct Point<'a> {
    version: &'a Version,
    x: usize,
    current: bool,
    look: Look,
}

/// The picture.
pub(super) fn svg(report: &Report) -> String {
    let points = points(report);
    let lift = points.iter().map(|point| lift(&points, point)).max();
    let line = 58 + lift.unwrap_or(0);
    let width = 2 * LEFT + STEP * points.len().saturating_sub(1);
    let height = line + BELOW;
    let mut svg = format!(
        "<svg class=\"timeline\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"The revisions in time\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"8\" refY=\"5\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path class=\"tip\" d=\"M0 0L10 5L0 10z\"/></marker></defs>\n"
    );
    // Writing to a string cannot fail.
    for pair in points.windows(2) {
        if let [from, to] = pair {
            let (a, b) = (from.x + RADIUS + 6, to.x - RADIUS - 6);
            let gap = to.version.revision.created_at - from.version.revision.created_at;
            let _ = writeln!(
                svg,
                "<path class=\"rail\" d=\"M{a} {line}H{b}\"/><text class=\"gap\" x=\"{}\" y=\"{}\">{}</text>",
                usize::midpoint(a, b),
                line - 8,
                span(gap)
            );
        }
    }
    for point in &points {
        arc(&mut svg, &points, point, line);
    }
    for point in &points {
        node(&mut svg, point, line);
    }
    svg.push_str("</svg>");
    svg
}

fn points(report: &Report) -> Vec<Point<'_>> {
    let newest = report.versions.iter().take(SHOWN_MAX).rev();
    let points = newest.enumerate().map(|(at, version)| Point {
        version,
        x: LEFT + at * STEP,
        current: report.asset.revision == Some(version.number()),
        look: report.look(version),
    });
    points.collect()
}

/// How high the arc of a rollback goes; nothing without one.
fn lift(points: &[Point<'_>], point: &Point<'_>) -> usize {
    let source = source(points, point);
    source.map_or(0, |from| (24 + (point.x - from.x) / 9).min(120))
}

/// The revision that was brought back, if it is in the picture.
fn source<'a>(points: &'a [Point<'a>], point: &Point<'_>) -> Option<&'a Point<'a>> {
    let to = point.version.rollback.as_ref()?.to;
    points
        .iter()
        .find(|one| i64::from(one.version.number()) == to && one.x < point.x)
}

fn arc(svg: &mut String, points: &[Point<'_>], point: &Point<'_>, line: usize) {
    let Some(from) = source(points, point) else {
        return;
    };
    let (a, b, lift) = (from.x, point.x, lift(points, point));
    let (foot, head) = (line - RADIUS - 4, line - RADIUS - 8);
    // A cubic reaches three quarters of the height of its handles.
    let top = foot.saturating_sub(lift * 4 / 3);
    let third = (b - a) / 4;
    let _ = writeln!(
        svg,
        "<path class=\"arc\" d=\"M{a} {foot}C{} {top} {} {top} {b} {head}\" marker-end=\"url(#tip)\"/>\
         <text class=\"back\" x=\"{}\" y=\"{}\">content of {}</text>",
        a + third,
        b - third,
        usize::midpoint(a, b),
        foot.saturating_sub(lift + 7),
        from.version.number()
    );
}

fn node(svg: &mut String, point: &Point<'_>, line: usize) {
    let (x, version) = (point.x, point.version);
    let state = version.revision.approval.to_lowercase();
    let state = ["approved", "rejected", "revoked"]
        .into_iter()
        .find(|known| *known == state)
        .unwrap_or("pending");
    if point.current {
        let _ = writeln!(
            svg,
            "<circle class=\"ring\" cx=\"{x}\" cy=\"{line}\" r=\"{}\"/>",
            RADIUS + 5
        );
    }
    let at = version.revision.created_at;
    let by = if version.rollback.is_some() {
        "rolled back"
    } else {
        "made by a job"
    };
    let found = point.look.word();
    let _ = writeln!(
        svg,
        "<circle class=\"dot {state}\" cx=\"{x}\" cy=\"{line}\" r=\"{RADIUS}\"/>\
         <text class=\"number\" x=\"{x}\" y=\"{}\">{}</text>\
         <text class=\"when\" x=\"{x}\" y=\"{}\">{}</text><text class=\"clock\" x=\"{x}\" y=\"{}\">{} · {by}</text>\
         <text class=\"state {state}\" x=\"{x}\" y=\"{}\">{}</text>\
         <text class=\"found {}\" x=\"{x}\" y=\"{}\">{}</text>",
        line + 5,
        version.number(),
        line + RADIUS + 22,
        at.format("%Y-%m-%d"),
        line + RADIUS + 37,
        at.format("%H:%M"),
        line + RADIUS + 56,
        html(&word(&version.revision.approval)),
        found.replace(' ', "-"),
        line + RADIUS + 73,
        mark(found)
    );
}

/// A sign and the word for what was found.
pub(super) fn mark(found: &str) -> String {
    let sign = match found {
        "intact" => "✓",
        "missing" => "✕",
        "changed" => "≠",
        "not verifiable" => "?",
        _ => "–",
    };
    format!("{sign} {found}")
}

/// A span of time for people.
fn span(delta: TimeDelta) -> String {
    let minutes = delta.num_minutes();
    match minutes {
        ..1 => format!("{} s", delta.num_seconds().max(0)),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{} d {} h", minutes / 1_440, minutes % 1_440 / 60),
    }
}

/// The same as lines, the oldest first, with every decision at its time.
pub(super) fn lines(report: &Report) -> String {
    let mut steps = Vec::new();
    for version in &report.versions {
        let number = version.number();
        let what = match &version.rollback {
            Some(rollback) => format!("↩ {number}  back to {}: {}", rollback.to, rollback.reason),
            None => format!("● {number}  {}", maker(&version.revision.origin)),
        };
        let actor = version.actor.clone().unwrap_or_default();
        steps.push((version.revision.created_at, version.position, what, actor));
        for review in &version.reviews {
            let reason = review.reason.as_deref().map(|reason| format!(": {reason}"));
            let what = format!(
                "  {number}  {}{}",
                word(&review.decision),
                reason.unwrap_or_default()
            );
            let actor = review.actor.clone().unwrap_or_default();
            steps.push((review.at, Some(review.position), what, actor));
        }
    }
    steps.sort_by_key(|(at, pos, ..)| (pos.unwrap_or_default(), *at));
    let line = |(at, pos, what, actor): &(_, Option<i64>, String, String)| {
        let pos = pos.map(|pos| pos.to_string()).unwrap_or_default();
        format!(
            "{}  {pos:>8}  {}  ({})\n",
            time(*at),
            plain(what),
            plain(actor)
        )
    };
    steps.iter().map(line).collect()
}
