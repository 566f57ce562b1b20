//! What virtual workers return: values of the declared types, so that every template resolves.

use std::collections::BTreeMap;

use domain::definition::has_type;
use domain::definition::model::ValueType;
use domain::handler::{Handler, Output};
use serde_json::{Map, Value, json};

use super::chance::Chance;

/// The output of one run. A field that is named like a parameter repeats it, as real handlers do.
pub(super) fn output(handler: Option<&Handler>, params: &Value, chance: Chance) -> Value {
    let fields = handler.map(|handler| &handler.outputs);
    fields.map_or_else(|| json!({}), |fields| object(fields, params, chance))
}

fn object(fields: &BTreeMap<String, Output>, params: &Value, chance: Chance) -> Value {
    let made = fields
        .iter()
        .map(|(name, field)| (name.clone(), value(name, field, params, chance.of(name))));
    Value::Object(made.collect::<Map<_, _>>())
}

fn value(name: &str, field: &Output, params: &Value, chance: Chance) -> Value {
    if let Some(given) = params.get(name).filter(|v| has_type(field.kind, v)) {
        return given.clone();
    }
    match field.kind {
        ValueType::String => json!(format!("<{name}>")),
        ValueType::Integer => json!(chance.between(1, 12)),
        ValueType::Number => json!(f64::from(chance.between(10, 2_000)) / 10.0),
        ValueType::Boolean => json!(true),
        ValueType::Array => json!([1, 2, 3].map(|n| format!("<{name} {n}>"))),
        ValueType::Object => match &field.fields {
            Some(fields) => object(fields, params, chance),
            // The one declared object that is the parameters themselves.
            None if name == "echoed_params" => params.clone(),
            None => json!({}),
        },
    }
}

/// Puts a value at a path of an object; objects on the way are made.
pub(super) fn put(target: &mut Value, path: &[String], value: &Value) {
    let Some((first, rest)) = path.split_first() else {
        *target = value.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    if let Some(map) = target.as_object_mut() {
        put(map.entry(first.clone()).or_insert(Value::Null), rest, value);
    }
}
