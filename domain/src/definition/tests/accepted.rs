//! Files that are right, and what becomes of them.

use serde_json::json;

use super::catalog;
use crate::definition::model::{Node, Workflow};
use crate::definition::{Diagnostic, compile, content_hash, load};
use crate::handler::{Catalog, Handler};

fn accept(file: &str) -> Workflow {
    load(file.as_bytes(), &catalog()).unwrap_or_else(|found: Vec<Diagnostic>| {
        let lines: Vec<_> = found.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

const EVERYTHING: &str = include_str!("everything.yaml");

#[test]
fn a_file_with_everything_in_it_is_accepted() {
    let workflow = accept(EVERYTHING);
    assert_eq!(workflow.inputs.len(), 6);
    assert_eq!(workflow.nodes.map(|nodes| nodes.len()), Some(12));
}

#[test]
fn the_model_survives_a_trip_through_json() {
    let workflow = accept(EVERYTHING);
    let json = serde_json::to_value(&workflow).expect("JSON");
    let back: Workflow = serde_json::from_value(json).expect("the same");
    assert_eq!(back, workflow);
    assert_eq!(content_hash(&back), content_hash(&workflow));
}

#[test]
fn the_hash_sees_content_and_not_layout() {
    let a = accept(
        "workflow_id: t\nname: t\nversion: 1\nnodes: {S: {type: start, next: E}, E: {type: end}}\n",
    );
    let b = accept(
        "# a comment\nversion: 0x1\nname: 't'\nworkflow_id: t\nnodes:\n  E:\n    type: end\n  S:\n    next: E\n    type: start\n",
    );
    let c = accept(
        "workflow_id: t\nname: other\nversion: 1\nnodes: {S: {type: start, next: E}, E: {type: end}}\n",
    );
    assert_eq!(content_hash(&a), content_hash(&b));
    assert_ne!(content_hash(&a), content_hash(&c));
    assert_eq!(content_hash(&a).len(), 64);
}

#[test]
fn stages_become_the_same_graph() {
    let stages = accept(
        r#"
workflow_id: t
name: t
version: 1
inputs: {n: {type: int, default: 10}}
stages:
  - {stage_number: 1, stage_name: greet, task_type: echo, parallelism: fixed, count: "{{ inputs.n }}", params: {message: "hello {{ index }}"}, max_parallel_tasks: 4}
  - {number: 2, name: reply, task_type: echo, parallelism: match_previous, source: "{{ previous_results }}", params: {message: "{{ item.text }} {{ next_stage_params.x }}"}, timeout_minutes: 5}
  - {number: 3, name: join, task_type: merge, parallelism: fan_in}
  - {number: 4, name: aside, task_type: echo, depends_on_stage: 2, params: {message: hi}}
"#,
    );
    let nodes = accept(
        r#"
workflow_id: t
name: t
version: 1
inputs: {n: {type: integer, default: 10}}
nodes:
  START: {type: start, next: [greet]}
  greet:
    type: fan_out
    source: "{{ inputs.n }}"
    max_parallel: 4
    task: {handler: echo, params: {message: "hello {{ index }}"}, timeout_seconds: 1800}
  reply:
    type: fan_out
    source: "{{ previous_results }}"
    task: {handler: echo, params: {message: "{{ item.text }} {{ next_stage_params.x }}"}, timeout_seconds: 300}
    depends_on: greet
  join: {type: fan_in, handler: merge, timeout_seconds: 1800, depends_on: reply, next: END}
  aside: {type: task, handler: echo, params: {message: hi}, timeout_seconds: 1800, depends_on: reply, next: END}
  END: {type: end}
"#,
    );
    assert_eq!(stages, nodes);
    assert_eq!(content_hash(&stages), content_hash(&nodes));
}

#[test]
fn aliases_of_yaml_repeat_values() {
    let workflow = accept(
        "workflow_id: t\nname: t\nversion: 1\nnodes:\n  S: {type: start, next: [a, b]}\n  a: {type: task, handler: echo, retry: &r {max_attempts: 5}, next: E}\n  b: {type: task, handler: echo, retry: *r, next: E}\n  E: {type: end}\n",
    );
    let attempts: Vec<_> = workflow
        .nodes
        .iter()
        .flatten()
        .filter_map(|(_, node)| match node {
            Node::Task(task) => task.retry.as_ref().map(|retry| retry.max_attempts),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [5, 5]);
}

#[test]
fn plain_words_keep_their_json_type() {
    let workflow = accept(
        "workflow_id: t\nname: t\nversion: 1\nnodes:\n  S: {type: start, next: a}\n  a:\n    type: task\n    handler: echo\n    params:\n      n: 5\n      s: \"5\"\n      b: true\n      y: yes\n      block: |\n        two\n        lines\n    next: E\n  E: {type: end}\n",
    );
    let nodes = workflow.nodes.unwrap_or_default();
    let Some(Node::Task(task)) = nodes.get("a") else {
        panic!("a task");
    };
    let params = serde_json::Value::Object(task.params.clone());
    assert_eq!(
        params,
        json!({"n": 5, "s": "5", "b": true, "y": "yes", "block": "two\nlines\n"})
    );
}

#[test]
fn a_registered_version_keeps_what_it_left_to_its_handlers() {
    let workflow = accept(
        "workflow_id: t\nname: t\nversion: 1\nnodes: {S: {type: start, next: a}, a: {type: task, handler: \
         raster_validate, params: {source_url: x}, next: E}, E: {type: end}}\n",
    );
    let pins = compile(&workflow, "h", &catalog())
        .expect("compiles")
        .pins(&catalog());
    assert_eq!(pins.keys().collect::<Vec<_>>(), ["raster.validate"]);
    // A later build declares the handler differently.
    let mut later = Catalog::default();
    let moved = Handler::new("raster.validate", "elsewhere", 7, "").aliases(&["raster_validate"]);
    later.register(moved.idempotent()).expect("free");
    let graph = compile(&workflow, "h", &later.pinned(&pins)).expect("compiles");
    let task = graph.task(graph.find("a").expect("there")).expect("a task");
    let kept = (&*task.queue, task.timeout_seconds, task.idempotent);
    assert_eq!(kept, ("container-tasks", 600, false));
}
