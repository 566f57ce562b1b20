//! The nodes of a run as a table; long fan-outs are folded.

use comfy_table::{Cell, Color};
use domain::job::NodeStatus;

use super::span::span;
use super::timeline::{Line, Timeline};
use crate::output::{Look, lines_of};

/// Children of one fan-out that are shown one by one.
const CHILDREN_MAX: usize = 10;

pub(super) fn draw(timeline: &Timeline, look: Look) -> String {
    let header = ["NODE", "STATUS", "ATTEMPTS", "STARTED", "DURATION", "NOTE"];
    let mut table = look.table(&header);
    let mut shown = 0;
    let mut folded: Vec<&Line> = Vec::new();
    for line in &timeline.lines {
        if line.id.child.is_none() {
            add_folded(&mut table, &mut folded);
            shown = 0;
        } else if shown >= CHILDREN_MAX && !is_remarkable(line, shown) {
            folded.push(line);
            continue;
        } else {
            shown += 1;
        }
        table.add_row(row(line));
    }
    add_folded(&mut table, &mut folded);
    lines_of(&table)
}

/// What went wrong is shown even where much is folded, within reason.
fn is_remarkable(line: &Line, shown: usize) -> bool {
    shown < 2 * CHILDREN_MAX && (line.status == NodeStatus::Failed || line.bars.len() > 1)
}

fn row(line: &Line) -> [Cell; 6] {
    let indent = if line.id.child.is_some() { "  " } else { "" };
    let attempts = match line.bars.len() {
        0 => String::new(),
        n => n.to_string(),
    };
    let lasted = line.started_ms.zip(line.ended_ms).map(|(a, b)| b - a);
    [
        Cell::new(format!("{indent}{}", line.id)),
        status(line.status),
        Cell::new(attempts),
        Cell::new(line.started_ms.map(span).unwrap_or_default()),
        Cell::new(lasted.map(span).unwrap_or_default()),
        Cell::new(&line.note),
    ]
}

fn status(status: NodeStatus) -> Cell {
    let cell = Cell::new(status.word());
    match status {
        NodeStatus::Completed => cell.fg(Color::Green),
        NodeStatus::Failed => cell.fg(Color::Red),
        NodeStatus::Skipped => cell.fg(Color::DarkGrey),
        _ => cell,
    }
}

/// `... 90 more COMPLETED`, one row per status.
fn add_folded(table: &mut comfy_table::Table, folded: &mut Vec<&Line>) {
    for status in NodeStatus::ALL {
        let count = folded.iter().filter(|line| line.status == status).count();
        if count > 0 {
            let text = format!("  ... {count} more {}", status.word());
            table.add_row([Cell::new(text)]);
        }
    }
    folded.clear();
}
