//! Parameters against their declaration, before a handler sees them (O-120).

use domain::definition::fits;
use domain::failure::{Failure, FailureClass};
use domain::handler::Handler as Declaration;
use domain::json::{DEPTH_MAX, is_deeper_than};
use serde_json::{Map, Value};

/// What was given, completed by declared defaults; or everything that is wrong with it.
///
/// Null, and an empty text, list or object for a parameter that is not required, mean "not given".
pub(crate) fn prepare(
    declared: &Declaration,
    given: &Value,
) -> Result<Map<String, Value>, Failure> {
    let Value::Object(given) = given else {
        return Err(refused("the parameters are not an object".to_owned()));
    };
    let mut problems = Vec::new();
    let mut prepared = Map::new();
    for (name, value) in given {
        let Some(input) = declared.params.get(name) else {
            if declared.open_params {
                prepared.insert(name.clone(), value.clone());
            } else {
                let shown: String = name.chars().take(80).collect();
                problems.push(format!("`{shown}` is not a parameter"));
            }
            continue;
        };
        if value.is_null() || (!input.required && is_empty(value)) {
            continue;
        }
        if is_deeper_than(value, DEPTH_MAX) {
            problems.push(format!("`{name}` is nested deeper than {DEPTH_MAX} levels"));
        } else if let Err(misfit) = fits(input, value) {
            problems.push(format!("`{name}`: {}", misfit.message()));
        } else {
            prepared.insert(name.clone(), value.clone());
        }
    }
    for (name, input) in &declared.params {
        if prepared.contains_key(name) {
            continue;
        }
        if let Some(default) = &input.default {
            prepared.insert(name.clone(), default.clone());
        } else if input.required && given.get(name).is_none_or(Value::is_null) {
            problems.push(format!("`{name}` is required"));
        }
    }
    let complete = |set: &Vec<String>| set.iter().all(|name| prepared.contains_key(name));
    if !declared.one_of.is_empty() && !declared.one_of.iter().any(complete) {
        let sets: Vec<_> = declared.one_of.iter().map(|set| set.join(" + ")).collect();
        problems.push(format!("one of these is required: {}", sets.join("; ")));
    }
    if problems.is_empty() {
        return Ok(prepared);
    }
    Err(refused(format!(
        "`{}` cannot take these parameters: {}",
        declared.name,
        problems.join("; ")
    )))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn refused(message: String) -> Failure {
    Failure::new(FailureClass::Contract, "params_invalid", &message)
}

#[cfg(test)]
mod tests {
    use domain::handler::Catalog;
    use serde_json::json;

    use super::*;

    fn prepared(handler: &str, given: Value) -> Result<Value, String> {
        let catalog = Catalog::shipped();
        prepare(catalog.find(handler).unwrap(), &given)
            .map(Value::Object)
            .map_err(|failure| failure.message)
    }

    #[test]
    fn defaults_are_filled_in_and_empty_means_not_given() {
        let expected = json!({"name": "World"});
        assert_eq!(prepared("hello_world", json!({})), Ok(expected.clone()));
        assert_eq!(prepared("hello_world", json!({"name": ""})), Ok(expected));
        let open = prepared("echo", json!({"a": [], "steps": 2}));
        assert_eq!(open, Ok(json!({"a": [], "steps": 2, "step_delay": 0})));
    }

    #[test]
    fn everything_that_is_wrong_is_named() {
        let message = prepared("size_check", json!({"size": 1})).unwrap_err();
        assert!(message.contains("`size` is not a parameter"), "{message}");
        assert!(message.contains("`size_bytes` is required"), "{message}");
        let message = prepared("size_check", json!({"size_bytes": "7"})).unwrap_err();
        assert!(message.contains("expected"), "{message}");
        assert!(prepared("echo", json!([1])).is_err());
    }
}
