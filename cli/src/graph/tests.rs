//! Pictures of all shipped workflows, and of one that is hard to draw.

use super::layout::{Rect, lay_out};
use super::picture::Picture;
use super::{dot, mermaid, svg};
use crate::shipped;
use crate::source::check;

/// Long arrows, a label on a shared branch, a fan-out of a known size, and text that must be escaped.
const HARD: &str = r#"
workflow_id: hard
name: A hard one <with> "quotes" & more
version: 3
inputs:
  mode: {type: string, default: fast}
  n: {type: integer, default: 3}
nodes:
  START: {type: start, next: [probe, side, late]}
  probe: {type: task, handler: echo, params: {a: 1}, next: route}
  side: {type: task, handler: echo, next: [join, deep]}
  route:
    type: conditional
    branches:
      - {when: "inputs.mode == 'fast'", next: [quick, both]}
      - {when: "inputs.mode == 'slow' and inputs.n > 2", next: slow_way_with_a_name}
      - {default: true, next: both}
  quick: {type: task, handler: echo, next: join}
  slow_way_with_a_name: {type: task, handler: echo, next: second}
  second: {type: task, handler: echo, next: tiles}
  both: {type: task, handler: echo, next: join}
  tiles: {type: fan_out, source: 12, task: {handler: echo}, next: gather}
  gather: {type: fan_in, next: join}
  deep: {type: task, handler: echo, when: "inputs.n > 100", next: deeper}
  deeper: {type: task, handler: echo, next: END}
  late: {type: task, handler: echo, next: END}
  join: {type: task, handler: echo, depends_on: {any_of: [side]}, next: END}
  END: {type: end}
"#;

fn picture(text: &str) -> Picture {
    match check(text.as_bytes()) {
        Ok(definition) => Picture::of(&definition),
        Err(problems) => panic!("{problems:?}"),
    }
}

fn pictures() -> Vec<Picture> {
    let texts = shipped::WORKFLOWS.iter().map(|(_, text)| *text);
    texts.chain([HARD]).map(picture).collect()
}

fn overlap(a: Rect, b: Rect) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.bottom() && b.y < a.bottom()
}

#[test]
fn no_two_boxes_or_labels_overlap() {
    for picture in pictures() {
        let layout = lay_out(&picture);
        assert_eq!(layout.boxes.len(), picture.nodes.len());
        let labels = layout.routes.iter().filter_map(|route| route.label);
        let all: Vec<Rect> = layout.boxes.iter().copied().chain(labels).collect();
        for (ix, a) in all.iter().enumerate() {
            for b in &all[ix + 1..] {
                assert!(!overlap(*a, *b), "{}: {a:?} and {b:?}", picture.id);
            }
            assert!(a.x >= -0.1 && a.x + a.width <= layout.width + 0.1);
            assert!(a.y >= -0.1 && a.bottom() <= layout.height + 0.1);
        }
    }
}

#[test]
fn no_arrow_runs_through_a_box() {
    for picture in pictures() {
        let layout = lay_out(&picture);
        for (edge, route) in picture.edges.iter().zip(&layout.routes) {
            let others = (0..layout.boxes.len()).filter(|ix| *ix != edge.from && *ix != edge.to);
            let others: Vec<Rect> = others.map(|ix| layout.boxes[ix]).collect();
            // Straight past the layers; the curves stay in the free space between them.
            for [(x, top), (_, bottom)] in &route.steps {
                let line = Rect {
                    x: *x,
                    y: *top,
                    width: 0.1,
                    height: bottom - top,
                };
                assert!(!others.iter().any(|b| overlap(*b, line)), "{}", picture.id);
            }
            for pair in route.steps.windows(2) {
                let (from, to) = (pair[0][1].1, pair[1][0].1);
                let is_free = |b: &Rect| b.bottom() <= from + 0.1 || b.y >= to - 0.1;
                assert!(from < to && others.iter().all(is_free), "{}", picture.id);
            }
        }
    }
}

#[test]
fn svg_is_well_formed_and_names_every_node() {
    for picture in pictures() {
        let text = svg::draw(&picture);
        assert_well_formed(&text);
        for node in &picture.nodes {
            assert!(text.contains(&format!(">{}</text>", node.name)));
        }
        assert_eq!(text, svg::draw(&picture));
    }
}

#[test]
fn svg_escapes_what_people_write() {
    let text = svg::draw(&picture(HARD));
    assert!(text.contains("A hard one &lt;with&gt; &quot;quotes&quot; &amp; more"));
    assert!(text.contains("inputs.mode == 'slow' and inputs.n &gt; 2"));
    assert!(text.contains(">x 12</text>"));
}

/// Tags are closed in the order in which they were opened, and `&` only begins an entity.
fn assert_well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        assert!(!before.contains('>'), "a bare > in {before:?}");
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;"];
        for (at, _) in before.match_indices('&') {
            assert!(entities.iter().any(|e| before[at..].starts_with(e)));
        }
        let (tag, after) = after.split_once('>').expect("every tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in {tag:?}");
        let name = tag.trim_start_matches('/');
        let name = name.split([' ', '/']).next().unwrap_or_default();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = after;
    }
    assert_eq!(open, Vec::<&str>::new());
    assert_eq!(rest.trim(), "");
}

fn shipped(name: &str) -> Picture {
    let found = shipped::WORKFLOWS.iter().find(|(file, _)| *file == name);
    picture(found.expect("it ships").1)
}

#[test]
fn mermaid_text_of_raster_processing() {
    let expected = r##"---
title: "Raster Processing Pipeline (version 2)"
---
flowchart TD
    START(["START<br/>start"])
    validate["validate<br/>task raster.validate"]
    route_by_size{{"route_by_size<br/>conditional<br/>nodes.validate.output.file_size_mb"}}
    process_docker["process_docker<br/>task raster.create_cog"]
    process_fa["process_fa<br/>task raster.create_cog"]
    create_stac["create_stac<br/>task raster.stac_register_item"]
    END_(["END<br/>end"])
    START --> validate
    validate --> route_by_size
    route_by_size -->|"#lt; 100"| process_fa
    route_by_size -->|"default"| process_docker
    process_docker --> create_stac
    process_fa --> create_stac
    create_stac --> END_
"##;
    assert_eq!(mermaid::draw(&shipped("raster_processing.yaml")), expected);
}

#[test]
fn dot_text_of_raster_processing() {
    let expected = r#"digraph "raster_processing" {
    graph [rankdir=TB, labelloc=t, label="Raster Processing Pipeline (version 2)"];
    node [fontname="monospace", fontsize=11];
    edge [fontname="monospace", fontsize=10];
    "START" [shape=box, style=rounded, label="START\nstart"];
    "validate" [shape=box, label="validate\ntask raster.validate"];
    "route_by_size" [shape=hexagon, label="route_by_size\nconditional\nnodes.validate.output.file_size_mb"];
    "process_docker" [shape=box, label="process_docker\ntask raster.create_cog"];
    "process_fa" [shape=box, label="process_fa\ntask raster.create_cog"];
    "create_stac" [shape=box, label="create_stac\ntask raster.stac_register_item"];
    "END" [shape=box, style=rounded, label="END\nend"];
    "START" -> "validate";
    "validate" -> "route_by_size";
    "route_by_size" -> "process_fa" [label="< 100"];
    "route_by_size" -> "process_docker" [label="default"];
    "process_docker" -> "create_stac";
    "process_fa" -> "create_stac";
    "create_stac" -> "END";
}
"#;
    assert_eq!(dot::draw(&shipped("raster_processing.yaml")), expected);
}
