//! The end of a job that went well, and what it answers.

use serde_json::{Map, Value, json};

use super::command::Context;
use super::decide::end_events;
use super::event::Event;
use super::scope::JobScope;
use super::state::State;
use crate::definition::graph::{Kind, Node};
use crate::expr::Budget;
use crate::failure::{Failure, FailureClass};
use crate::json::{EVENT_DEPTH_MAX, clean, is_deeper_than, size_bytes};

/// Largest job result.
const RESULT_BYTES_MAX: usize = 256 * 1024;

/// All nodes are terminal and none has failed.
pub(super) fn complete(state: &State, ctx: &Context) -> Vec<Event> {
    match result(state, ctx) {
        Ok(result) => end_events(state, Event::JobCompleted { result }),
        Err(failure) => end_events(
            state,
            Event::JobFailed {
                node: None,
                failure,
            },
        ),
    }
}

/// What the job answers, with its provenance.
fn result(state: &State, ctx: &Context) -> Result<Value, Failure> {
    let contract = |code, message: &str| Failure::new(FailureClass::Contract, code, message);
    let value = match &state.graph.result {
        Some(template) => {
            let scope = JobScope::of_job(state);
            template
                .render(&scope, &mut Budget::default())
                .map_err(|error| {
                    let message = format!("the `result` of the workflow cannot be made: {error}");
                    contract("template_error", &message)
                })?
        }
        None => Value::Object(last_outputs(state)),
    };
    let mut map = match value {
        Value::Object(map) => map,
        other => Map::from_iter([("result".to_owned(), other)]),
    };
    if map
        .values()
        .any(|value| is_deeper_than(value, EVENT_DEPTH_MAX))
    {
        return Err(contract("too_deep", "the result is nested too deeply"));
    }
    if size_bytes(&map) > RESULT_BYTES_MAX {
        return Err(contract(
            "result_too_large",
            "the result has more than 256 KB",
        ));
    }
    map.insert("_provenance".to_owned(), provenance(state, ctx));
    Ok(clean(Value::Object(map)))
}

fn provenance(state: &State, ctx: &Context) -> Value {
    let workflow = &state.graph.workflow;
    json!({
        "workflow_id": workflow.id,
        "workflow_version": workflow.version,
        "workflow_hash": workflow.hash,
        "job_id": state.job_id(),
        "completed_at": ctx.now,
    })
}

/// The outputs of the nodes right before the ends, as many as fit.
fn last_outputs(state: &State) -> Map<String, Value> {
    let ends = state.graph.nodes.iter().filter(|n| n.kind == Kind::End);
    let mut outputs = Map::new();
    let (mut bytes, mut omitted) = (0, 0);
    for ix in ends.flat_map(|end: &Node| end.incoming.iter()) {
        let (Some(node), Some(node_state)) = (state.graph.node(*ix), state.nodes.get(*ix)) else {
            continue;
        };
        let Some(output) = &node_state.output else {
            continue;
        };
        bytes += size_bytes(output) + node.name.len() + 8;
        if bytes > RESULT_BYTES_MAX / 2 || is_deeper_than(output, EVENT_DEPTH_MAX) {
            omitted += 1;
        } else {
            outputs.insert(node.name.to_string(), output.clone());
        }
    }
    if omitted > 0 {
        outputs.insert("_omitted".to_owned(), json!(omitted));
    }
    outputs
}
