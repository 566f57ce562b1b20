//! How a fan-in without a handler joins the outputs of its predecessors.

use serde_json::{Value, json};

use super::group::{RESULTS_BYTES_MAX, add};
use super::scope::{collect, has_result};
use super::state::State;
use crate::definition::graph::Node;
use crate::definition::model::Aggregation;
use crate::failure::{Failure, FailureClass};

pub(super) fn aggregate(
    state: &State,
    node: &Node,
    mode: Aggregation,
    field: Option<&str>,
) -> Result<Value, Failure> {
    match mode {
        Aggregation::Collect | Aggregation::Concat => {
            let collected = collect(state, &node.incoming, RESULTS_BYTES_MAX);
            let count = collected.count;
            let Some(results) = collected.results else {
                return Ok(
                    json!({ "results": null, "count": count, "manifest": collected.manifest }),
                );
            };
            let mut picked = Vec::with_capacity(results.len());
            for value in results {
                let value = pick(value, field)?;
                match (mode, value) {
                    (Aggregation::Concat, Value::Array(items)) => picked.extend(items),
                    (Aggregation::Concat, other) => {
                        return Err(not_a(field, "a list", &other));
                    }
                    (_, value) => picked.push(value),
                }
            }
            let count = if mode == Aggregation::Concat {
                picked.len()
            } else {
                count
            };
            Ok(json!({ "results": picked, "count": count, "manifest": null }))
        }
        Aggregation::Sum => sum(state, node, field),
        Aggregation::First | Aggregation::Last => one(state, node, mode, field),
    }
}

fn pick(value: Value, field: Option<&str>) -> Result<Value, Failure> {
    let Some(field) = field else { return Ok(value) };
    let missing = || contract(&format!("an output has no field `{field}`"));
    value.get(field).cloned().ok_or_else(missing)
}

fn contract(message: &str) -> Failure {
    Failure::new(FailureClass::Contract, "cannot_aggregate", message)
}

fn not_a(field: Option<&str>, wanted: &str, found: &Value) -> Failure {
    let what = field.map_or_else(
        || "an output".to_owned(),
        |f| format!("field `{f}` of an output"),
    );
    contract(&format!(
        "{what} is {}, not {wanted}",
        crate::expr::kind(found)
    ))
}

/// Sums of fan-outs are kept as they come in, so that their results need not be.
fn sum(state: &State, node: &Node, field: Option<&str>) -> Result<Value, Failure> {
    let field = field.unwrap_or_default();
    let mut total = json!(0);
    let mut count = 0;
    for ix in node.incoming.iter().filter(|ix| has_result(state, **ix)) {
        let value = match state.groups.get(ix) {
            Some(group) => {
                count += group.count() as usize;
                match group.results.sum(field) {
                    Some(Ok(sum)) => sum.clone(),
                    Some(Err(index)) => {
                        let name = state.graph.node(*ix).map_or("?", |n| &n.name);
                        let message = format!("`{name}__{index}` has no number in field `{field}`");
                        return Err(contract(&message));
                    }
                    None => return Err(contract("the fan-out keeps no sum of this field")),
                }
            }
            None => {
                let single = collect(state, std::slice::from_ref(ix), RESULTS_BYTES_MAX);
                count += single.count;
                match single.results.unwrap_or_default().pop() {
                    Some(output) => pick(output, Some(field))?,
                    None => continue,
                }
            }
        };
        total = add(&total, &value).ok_or_else(|| not_a(Some(field), "a number", &value))?;
    }
    Ok(json!({ "total": total, "count": count }))
}

fn one(
    state: &State,
    node: &Node,
    mode: Aggregation,
    field: Option<&str>,
) -> Result<Value, Failure> {
    let first = mode == Aggregation::First;
    let mut count = 0;
    let mut candidates = Vec::new();
    for ix in node.incoming.iter().filter(|ix| has_result(state, **ix)) {
        match state.groups.get(ix) {
            Some(group) => {
                count += group.count() as usize;
                let results = &group.results;
                candidates.extend(
                    if first {
                        results.first()
                    } else {
                        results.last()
                    }
                    .cloned(),
                );
            }
            None => {
                let single = collect(state, std::slice::from_ref(ix), RESULTS_BYTES_MAX);
                count += single.count;
                candidates.extend(single.results.unwrap_or_default());
            }
        }
    }
    let chosen = if first {
        candidates.into_iter().next()
    } else {
        candidates.pop()
    };
    let result = chosen.map(|value| pick(value, field)).transpose()?;
    Ok(json!({ "result": result, "count": count }))
}
