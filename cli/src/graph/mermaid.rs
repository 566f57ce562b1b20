//! A picture as Mermaid text, which code hosts and many editors draw.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::picture::{Picture, Shape};

pub(super) fn draw(picture: &Picture) -> String {
    let keys = keys(picture);
    let key = |ix: usize| keys.get(ix).map_or("", String::as_str);
    let mut text = format!(
        "---\ntitle: {}\n---\nflowchart TD\n",
        yaml_text(&picture.title)
    );
    for (ix, node) in picture.nodes.iter().enumerate() {
        let (open, close) = match node.shape {
            Shape::Start | Shape::End => ("([", "])"),
            Shape::Task => ("[", "]"),
            Shape::Conditional => ("{{", "}}"),
            Shape::FanOut => ("[[", "]]"),
            Shape::FanIn => ("[\\", "/]"),
        };
        let mut label = escape(&node.short_name());
        for line in node.lines.iter().chain(&node.times) {
            label.push_str("<br/>");
            label.push_str(&escape(line));
        }
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "    {}{open}\"{label}\"{close}", key(ix));
    }
    for edge in &picture.edges {
        let label = edge
            .label
            .as_ref()
            .map(|label| format!("|\"{}\"|", escape(label)));
        let arrow = label.unwrap_or_default();
        let _ = writeln!(text, "    {} -->{arrow} {}", key(edge.from), key(edge.to));
    }
    text
}

/// Names that Mermaid takes as they are, each once. Some words of its own, such as `end`, break it.
fn keys(picture: &Picture) -> Vec<String> {
    const RESERVED: [&str; 12] = [
        "call",
        "class",
        "classdef",
        "click",
        "default",
        "direction",
        "end",
        "flowchart",
        "graph",
        "href",
        "style",
        "subgraph",
    ];
    let mut taken = BTreeSet::new();
    let make = |(ix, name): (usize, &str)| {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut key: String = name.chars().map(plain).collect();
        if RESERVED.contains(&key.to_lowercase().as_str()) {
            key.push('_');
        }
        if !taken.insert(key.clone()) {
            key = format!("{key}_{ix}");
            taken.insert(key.clone());
        }
        key
    };
    let names = picture.nodes.iter().map(|node| node.name.as_str());
    names.enumerate().map(make).collect()
}

/// Mermaid's own entities: `#quot;` and the like.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("#quot;"),
            '#' => escaped.push_str("#35;"),
            '&' => escaped.push_str("#amp;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '`' => escaped.push_str("#96;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A JSON string is a YAML string.
fn yaml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
