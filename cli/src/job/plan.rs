//! What a retry or a fork takes over of an older job, and what it runs.

use comfy_table::{Cell, Color};
use serde::{Deserialize, Serialize};

use crate::output::{Console, lines_of};
use crate::validate::count;

/// Fields of a [`Plan`].
pub(super) const PLAN: &str = "reused runs changedInputs more \
     nodes { node kind fate cause because children reusedChildren { first last jobId } }";

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Plan {
    reused: u64,
    runs: usize,
    changed_inputs: Vec<String>,
    nodes: Vec<Planned>,
    more: usize,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Planned {
    node: String,
    kind: String,
    fate: String,
    cause: Option<String>,
    because: Option<String>,
    children: Option<u32>,
    reused_children: Vec<Range>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Range {
    first: u32,
    last: u32,
    job_id: String,
}

impl Plan {
    /// In one line.
    pub(super) fn sum(&self) -> String {
        let reused = count(usize::try_from(self.reused).unwrap_or(usize::MAX), "output");
        format!("{reused} reused, {} to run", count(self.runs, "node"))
    }

    /// A row per node.
    pub(super) fn print(&self, console: &mut Console<'_>) -> anyhow::Result<()> {
        let mut table = console.look.table(&["NODE", "KIND", "FATE", "WHY"]);
        for node in &self.nodes {
            let fate = Cell::new(node.fate.to_lowercase().replace('_', " "));
            let fate = match node.fate.as_str() {
                "REUSED" => fate.fg(Color::Green),
                "STAYS_SKIPPED" => fate.fg(Color::DarkGrey),
                _ => fate,
            };
            table.add_row([
                Cell::new(&node.node),
                Cell::new(&node.kind),
                fate,
                Cell::new(node.why()),
            ]);
        }
        let mut text = lines_of(&table);
        if self.more > 0 {
            text.push_str(&format!("\nand {} more", count(self.more, "node")));
        }
        Ok(console.data(&text)?)
    }

    /// Nodes that run although nobody named them, and for another reason than what is before them.
    pub(super) fn surprises(&self) -> impl Iterator<Item = String> {
        let surprise = |cause: &str| !matches!(cause, "FORK_POINT" | "BEHIND");
        let nodes = self.nodes.iter();
        nodes
            .filter(move |node| node.cause.as_deref().is_some_and(surprise))
            .map(|node| {
                format!(
                    "`{}` runs too: {}",
                    node.node,
                    node.because.as_deref().unwrap_or("?")
                )
            })
    }
}

impl Planned {
    fn why(&self) -> String {
        let because = self.because.clone().unwrap_or_default();
        let Some(total) = self.children else {
            return because;
        };
        let taken = self.reused_children.iter().map(|range| match range {
            Range { first, last, .. } if first == last => first.to_string(),
            Range { first, last, .. } => format!("{first}-{last}"),
        });
        let taken: Vec<_> = taken.collect();
        let children = match &taken[..] {
            [] => format!("none of {total} children"),
            _ => format!("children {} of {total}", taken.join(", ")),
        };
        match because.as_str() {
            "" => children,
            because => format!("{children}; {because}"),
        }
    }
}
