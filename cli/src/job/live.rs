//! The live picture of a job on a terminal: one line per node, in stable columns.
//!
//! A line is drawn again only when its text changed, so nothing flickers.

use std::collections::BTreeMap;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::snapshot::{Row, Snapshot};
use crate::output::{Look, Paint, cut};

/// Cells of a bar.
const CELLS: usize = 20;
/// Longest name that is shown in full.
const NAME_MAX: usize = 32;

pub(super) struct Bars {
    all: MultiProgress,
    title: ProgressBar,
    lines: BTreeMap<String, (ProgressBar, String)>,
    look: Look,
}

impl Bars {
    pub(super) fn new(look: Look) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let title = all.add(line());
        Self {
            all,
            title,
            lines: BTreeMap::new(),
            look,
        }
    }

    pub(super) fn waits(&self) {
        self.title.set_message("waits for an orchestrator");
    }

    pub(super) fn lost(&self) {
        self.title
            .set_message("the server does not answer; trying again");
    }

    pub(super) fn update(&mut self, now: &Snapshot) {
        let job = &now.job;
        let paused = if job.paused { "  paused" } else { "" };
        let title = format!(
            "{}  {} v{}  {}{paused}",
            job.job_id, job.workflow_id, job.workflow_version, job.status
        );
        self.title
            .set_message(self.look.paint(Paint::Strong, &title));
        let names = now.rows.iter().map(|row| row.node.node_id.chars().count());
        let width = names.max().unwrap_or(0).min(NAME_MAX);
        for row in &now.rows {
            let text = self.text(row, width);
            let name = row.node.node_id.clone();
            let (bar, last) = self
                .lines
                .entry(name)
                .or_insert_with(|| (self.all.add(line()), String::new()));
            if *last != text {
                bar.set_message(text.clone());
                *last = text;
            }
        }
    }

    /// Leaves the last picture where it is.
    pub(super) fn end(&self) {
        for (bar, _) in self.lines.values() {
            bar.abandon();
        }
        self.title.abandon();
    }

    fn text(&self, row: &Row, width: usize) -> String {
        let name: String = row.node.node_id.chars().take(width).collect();
        let (done, all) = row.progress();
        // On a narrow terminal the words need the room more than the bar.
        let cells = if self.look.width < width + CELLS + 50 {
            CELLS / 4
        } else {
            CELLS
        };
        let filled = match row.node.status.as_str() {
            "SKIPPED" => 0,
            "RUNNING" if row.children.is_none() => cells / 2,
            _ => {
                let cells = u64::try_from(cells).unwrap_or(0);
                usize::try_from(done.saturating_mul(cells) / all.max(1)).unwrap_or(0)
            }
        };
        let filled = filled.min(cells);
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(cells - filled));
        let status = format!("{:<10}", row.status());
        let paint = match row.node.status.as_str() {
            "COMPLETED" => Paint::Good,
            "FAILED" => Paint::Bad,
            "PENDING" | "SKIPPED" => Paint::Faint,
            _ => Paint::Warn,
        };
        // A line that wraps would be counted as one and drawn over its neighbours.
        let room = self.look.width.saturating_sub(width + cells + 18);
        let note = cut(&row.note(), room);
        format!(
            "  {name:<width$}  {bar}  {}  {note}",
            self.look.paint(paint, &status)
        )
    }
}

/// A line whose text is all there is to it.
fn line() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}");
    let bar = ProgressBar::new(1);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
