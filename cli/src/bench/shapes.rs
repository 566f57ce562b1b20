//! The workflows that benches run: registered at run time, never shipped.

use serde_json::{Map, Value, json};

/// One task that returns its parameters.
pub(super) fn one(id: &str) -> Value {
    chain(id, 1)
}

/// `steps` tasks, one after another.
pub(super) fn chain(id: &str, steps: u32) -> Value {
    let mut nodes = Map::new();
    nodes.insert(
        "START".to_owned(),
        json!({ "type": "start", "next": "step0" }),
    );
    for step in 0..steps {
        let next = match step + 1 {
            last if last == steps => "END".to_owned(),
            next => format!("step{next}"),
        };
        let task = json!({
            "type": "task", "handler": "echo", "params": { "step": step }, "next": next,
        });
        nodes.insert(format!("step{step}"), task);
    }
    workflow(id, nodes)
}

/// One task of this handler.
pub(super) fn task(id: &str, handler: &str, params: &Value) -> Value {
    let mut nodes = Map::new();
    nodes.insert(
        "START".to_owned(),
        json!({ "type": "start", "next": "task" }),
    );
    let task = json!({ "type": "task", "handler": handler, "params": params, "next": "END" });
    nodes.insert("task".to_owned(), task);
    workflow(id, nodes)
}

/// One task that nobody takes.
pub(super) fn waiting(id: &str) -> Value {
    let mut nodes = Map::new();
    nodes.insert(
        "START".to_owned(),
        json!({ "type": "start", "next": "wait" }),
    );
    let task = json!({ "type": "task", "handler": "echo", "queue": "bench-nobody", "params": {}, "next": "END" });
    nodes.insert("wait".to_owned(), task);
    workflow(id, nodes)
}

/// No task at all: the job ends with its first append.
pub(super) fn nothing(id: &str) -> Value {
    let mut nodes = Map::new();
    nodes.insert(
        "START".to_owned(),
        json!({ "type": "start", "next": "END" }),
    );
    workflow(id, nodes)
}

/// One fan-out of `items` tasks, and the join behind it.
pub(super) fn fan_out(id: &str, items: u32, task: &Value) -> Value {
    let mut nodes = Map::new();
    nodes.insert(
        "START".to_owned(),
        json!({ "type": "start", "next": "fan" }),
    );
    let fan = json!({ "type": "fan_out", "source": items, "task": task, "next": "join" });
    nodes.insert("fan".to_owned(), fan);
    let join = json!({ "type": "fan_in", "aggregation": "collect", "next": "END" });
    nodes.insert("join".to_owned(), join);
    workflow(id, nodes)
}

fn workflow(id: &str, mut nodes: Map<String, Value>) -> Value {
    nodes.insert("END".to_owned(), json!({ "type": "end" }));
    json!({ "workflow_id": id, "name": id, "version": 1, "nodes": nodes, "result": {} })
}
