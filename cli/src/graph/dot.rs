//! A picture in the language of Graphviz.

use std::fmt::Write as _;

use super::picture::{Picture, Shape};

pub(super) fn draw(picture: &Picture) -> String {
    let mut text = format!("digraph {} {{\n", quote(&picture.id));
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        text,
        "    graph [rankdir=TB, labelloc=t, label={}];",
        quote(&picture.title)
    );
    text.push_str("    node [fontname=\"monospace\", fontsize=11];\n");
    text.push_str("    edge [fontname=\"monospace\", fontsize=10];\n");
    for node in &picture.nodes {
        let shape = match node.shape {
            Shape::Start | Shape::End => "box, style=rounded",
            Shape::Task => "box",
            Shape::Conditional => "hexagon",
            Shape::FanOut => "box3d",
            Shape::FanIn => "invtrapezium",
        };
        let lines = std::iter::once(node.short_name())
            .chain(node.lines.iter().cloned())
            .chain(node.times.clone());
        let label = lines.collect::<Vec<_>>().join("\n");
        let _ = writeln!(
            text,
            "    {} [shape={shape}, label={}];",
            quote(&node.name),
            quote(&label)
        );
    }
    let name = |ix: usize| {
        let node = picture.nodes.get(ix);
        node.map(|n| quote(&n.name)).unwrap_or_default()
    };
    for edge in &picture.edges {
        let label = edge.label.as_ref();
        let label = label.map(|label| format!(" [label={}]", quote(label)));
        let _ = writeln!(
            text,
            "    {} -> {}{};",
            name(edge.from),
            name(edge.to),
            label.unwrap_or_default()
        );
    }
    text.push_str("}\n");
    text
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
