//! The JSON schema of the language: for editors, and for the check of a file's shape.

use serde_json::{Value, json};

use super::alias;
use super::model::Workflow;

/// The schema for editors (draft 2020-12). It accepts what the validator accepts.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = of_types();
    without_null(&mut schema);
    let defs = schema.get_mut("$defs").and_then(Value::as_object_mut);
    for (name, def) in defs.into_iter().flatten() {
        with_words(name, def);
        with_fields(name, def);
    }
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), "Strata workflow".into());
        let one = json!([{"required": ["nodes"]}, {"required": ["stages"]}]);
        root.insert("oneOf".to_owned(), one);
    }
    schema
}

/// The schema exactly as the types say it.
pub(super) fn of_types() -> Value {
    schemars::schema_for!(Workflow).to_value()
}

/// A field that is given has a value: null is not one of its types.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|t| t != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    map.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(options)) = map.get_mut("anyOf") {
                options.retain(|option| option.get("type") != Some(&json!("null")));
            }
            if let Some(Value::Object(fields)) = map.get_mut("properties") {
                for field in fields.values_mut().filter_map(Value::as_object_mut) {
                    let free = field
                        .keys()
                        .all(|key| key == "description" || key == "default");
                    if free {
                        let types = json!(["string", "number", "boolean", "array", "object"]);
                        field.insert("type".to_owned(), types);
                    }
                }
            }
            map.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn with_words(name: &str, def: &mut Value) {
    for (of, other, word) in alias::WORDS.iter().filter(|row| row.0 == name) {
        if let Some(Value::Array(words)) = def.get_mut("enum") {
            words.push((*other).into());
        } else if let Some(Value::Array(options)) = def.get_mut("oneOf") {
            let text = format!("Another word for `{word}`.");
            options.push(json!({"type": "string", "const": other, "description": text}));
        } else {
            debug_assert!(false, "{of} has no words");
        }
    }
}

fn with_fields(name: &str, def: &mut Value) {
    let mut either = Vec::new();
    for (_, other, field) in alias::FIELDS.iter().filter(|row| row.0 == name) {
        if let Some(Value::Object(fields)) = def.get_mut("properties")
            && let Some(schema) = fields.get(*field).cloned()
        {
            fields.insert((*other).to_owned(), schema);
        }
        if let Some(Value::Array(required)) = def.get_mut("required") {
            required.retain(|name| name != field);
        }
        either.push(json!({"oneOf": [{"required": [field]}, {"required": [other]}]}));
    }
    if let (false, Some(map)) = (either.is_empty(), def.as_object_mut()) {
        map.insert("allOf".to_owned(), Value::Array(either));
    }
}
