//! The run as a Gantt chart of letters: one row per node, time to the right.
//!
//! `█` at work, `x` a failure, `.` waiting for a retry, `◆` done by the engine at once. A fan-out is one
//! row whose height tells how many of its children are at work.

use domain::job::NodeStatus;

use super::span::span;
use super::timeline::{Bar, End, Line, Timeline};
use crate::output::{Look, Paint};

const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LABEL_MAX: usize = 32;

pub(super) fn draw(timeline: &Timeline, look: Look) -> String {
    let nodes: Vec<&Line> = timeline
        .lines
        .iter()
        .filter(|line| line.id.child.is_none())
        .collect();
    let labels: Vec<String> = nodes.iter().map(|line| label(timeline, line)).collect();
    let longest = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let width = look.width.saturating_sub(longest + 3).max(20);
    let scale = Scale {
        columns: width,
        end_ms: timeline.end_ms.max(1),
    };
    let mut rows = Vec::with_capacity(nodes.len() + 1);
    for (line, label) in nodes.iter().zip(&labels) {
        let cells = match line.status {
            NodeStatus::Skipped => format!("{:<width$}", "(skipped)").chars().collect(),
            _ if line.kind == "fan_out" => fan_out(timeline, line, scale),
            _ => single(line, scale),
        };
        let row = format!("{label:<longest$} |{}", painted(&cells, look));
        rows.push(row.trim_end().to_owned());
    }
    let end = span(timeline.end_ms);
    let gap = width.saturating_sub(end.chars().count() + 1);
    rows.push(format!("{:<longest$} 0{}{end}", "", " ".repeat(gap)));
    rows.join("\n")
}

#[derive(Clone, Copy)]
struct Scale {
    columns: usize,
    end_ms: i64,
}

impl Scale {
    fn column(self, ms: i64) -> usize {
        let columns = i64::try_from(self.columns).unwrap_or(80);
        let column = usize::try_from(ms * columns / self.end_ms).unwrap_or(0);
        column.min(self.columns - 1)
    }

    /// First and last column of a bar; even the shortest has one.
    fn columns(self, bar: &Bar) -> (usize, usize) {
        let first = self.column(bar.from_ms);
        let last = self.column(bar.to_ms.saturating_sub(1).max(bar.from_ms));
        (first, last.max(first))
    }
}

fn label(timeline: &Timeline, line: &Line) -> String {
    let name: String = line.id.name.chars().take(LABEL_MAX).collect();
    if line.kind != "fan_out" || line.started_ms.is_none() {
        return name;
    }
    let all = timeline.children(line).count();
    let done = timeline
        .children(line)
        .filter(|child| child.status == NodeStatus::Completed)
        .count();
    format!("{name} {done}/{all}")
}

fn single(line: &Line, scale: Scale) -> Vec<char> {
    let mut cells = vec![' '; scale.columns];
    if let (true, Some(ms)) = (line.bars.is_empty(), line.started_ms) {
        set(&mut cells, scale.column(ms), '◆');
    }
    for pair in line.bars.windows(2) {
        if let [before, after] = pair {
            let (from, to) = (scale.columns(before).1, scale.columns(after).0);
            (from..to).for_each(|column| set(&mut cells, column, '.'));
        }
    }
    for bar in &line.bars {
        let (first, last) = scale.columns(bar);
        (first..=last).for_each(|column| set(&mut cells, column, '█'));
    }
    mark_failures(&mut cells, &line.bars, scale);
    cells
}

/// All children in one row: the higher, the more of them are at work.
fn fan_out(timeline: &Timeline, line: &Line, scale: Scale) -> Vec<char> {
    let mut load = vec![0.0; scale.columns];
    let column_ms = scale.end_ms as f64 / scale.columns as f64;
    let mut reach: Option<(usize, usize)> = None;
    for bar in timeline.children(line).flat_map(|child| &child.bars) {
        let (first, last) = scale.columns(bar);
        reach = Some(reach.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
        for column in first..=last {
            let from = (column as f64 * column_ms).max(bar.from_ms as f64);
            let to = ((column + 1) as f64 * column_ms).min(bar.to_ms as f64);
            if let Some(load) = load.get_mut(column) {
                *load += (to - from).max(column_ms / 100.0) / column_ms;
            }
        }
    }
    let peak = load.iter().copied().fold(0.0, f64::max);
    let mut cells: Vec<char> = load.iter().map(|load| height(*load, peak)).collect();
    if let Some((first, last)) = reach {
        for cell in cells.iter_mut().take(last + 1).skip(first) {
            *cell = if *cell == ' ' { '.' } else { *cell };
        }
    } else if let Some(ms) = line.started_ms {
        set(&mut cells, scale.column(ms), '◆');
    }
    for child in timeline.children(line) {
        mark_failures(&mut cells, &child.bars, scale);
    }
    cells
}

fn height(load: f64, peak: f64) -> char {
    if load <= 0.0 || peak <= 0.0 {
        return ' ';
    }
    let steps = HEIGHTS.len() as f64;
    let wanted = (load / peak * steps).ceil();
    let heights = HEIGHTS.iter().zip(1_u8..);
    let fits = heights
        .filter(|(_, step)| f64::from(*step) <= wanted)
        .last();
    fits.map_or('▁', |(height, _)| *height)
}

fn mark_failures(cells: &mut [char], bars: &[Bar], scale: Scale) {
    for bar in bars.iter().filter(|bar| bar.end != End::Completed) {
        set(cells, scale.columns(bar).1, 'x');
    }
}

fn set(cells: &mut [char], column: usize, to: char) {
    if let Some(cell) = cells.get_mut(column) {
        *cell = to;
    }
}

/// The cells as text, each run of one kind in its colour.
fn painted(cells: &[char], look: Look) -> String {
    let mut text = String::new();
    for run in cells.chunk_by(|a, b| kind(*a) == kind(*b)) {
        let letters: String = run.iter().collect();
        text.push_str(&match run.first().and_then(|first| kind(*first)) {
            Some(paint) => look.paint(paint, &letters),
            None => letters,
        });
    }
    text
}

fn kind(cell: char) -> Option<Paint> {
    match cell {
        'x' => Some(Paint::Bad),
        '.' => Some(Paint::Faint),
        '◆' => Some(Paint::Strong),
        cell if HEIGHTS.contains(&cell) => Some(Paint::Good),
        _ => None,
    }
}
