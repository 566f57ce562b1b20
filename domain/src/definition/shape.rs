//! How the check of a file's shape reads a JSON schema.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::structure::cut;
use super::yaml::Node;

/// The field that says what kind of node it is.
pub(super) const TAG: &str = "type";

/// What a schema asks for.
pub(super) enum Shape<'s> {
    Any,
    Words(Vec<&'s str>),
    /// Objects that are told apart by their tag.
    Variants(&'s [Value]),
    Either(Vec<&'s Value>),
    /// Named fields.
    Object(&'s Value),
    /// Any names, each with a value of this schema.
    Table(&'s Value),
    List(&'s Value),
    Text,
    Integer,
    Number,
    Flag,
}

/// Follows a reference; the name is that of the type.
pub(super) fn resolve<'s>(root: &'s Value, schema: &'s Value) -> (Option<&'s str>, &'s Value) {
    let name = schema.get("$ref").and_then(Value::as_str);
    let name = name.and_then(|reference| reference.strip_prefix("#/$defs/"));
    let found = name.and_then(|name| root.get("$defs")?.get(name));
    match found {
        Some(found) => (name, found),
        // `anyOf: [X, null]` is X: null is never allowed.
        None => match alternatives(schema).as_slice() {
            [only] => resolve(root, only),
            _ => (None, schema),
        },
    }
}

fn alternatives(schema: &Value) -> Vec<&Value> {
    let options = schema.get("anyOf").and_then(Value::as_array);
    let not_null = |option: &&Value| option.get("type") != Some(&json!("null"));
    options.into_iter().flatten().filter(not_null).collect()
}

/// What a resolved schema asks for.
pub(super) fn shape<'s>(root: &'s Value, schema: &'s Value) -> Shape<'s> {
    if let Some(Value::Array(words)) = schema.get("enum") {
        return Shape::Words(words.iter().filter_map(Value::as_str).collect());
    }
    if let Some(Value::Array(options)) = schema.get("oneOf") {
        let constant = |option: &'s Value| option.get("const").and_then(Value::as_str);
        return match options.iter().map(constant).collect::<Option<Vec<_>>>() {
            Some(words) => Shape::Words(words),
            None => Shape::Variants(options),
        };
    }
    let options = alternatives(schema);
    if !options.is_empty() {
        let nested = options.into_iter().flat_map(|option| {
            let (_, option) = resolve(root, option);
            let inner = alternatives(option);
            if inner.is_empty() {
                vec![option]
            } else {
                inner
            }
        });
        return Shape::Either(nested.collect());
    }
    if schema.get("const").is_some() {
        return Shape::Words(tag_value(schema).into_iter().collect());
    }
    match kind(schema) {
        Some("object") => match (schema.get("properties"), schema.get("additionalProperties")) {
            (None, Some(each)) => Shape::Table(each),
            _ => Shape::Object(schema),
        },
        Some("array") => Shape::List(schema.get("items").unwrap_or(&Value::Null)),
        Some("string") => Shape::Text,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Flag,
        _ => Shape::Any,
    }
}

fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|k| *k != "null"),
        _ => None,
    }
}

fn tag_value(schema: &Value) -> Option<&str> {
    schema.get("const").and_then(Value::as_str)
}

/// The kind of node that a variant describes.
pub(super) fn tag(variant: &Value) -> Option<&str> {
    tag_value(variant.get("properties")?.get(TAG)?)
}

static NO_FIELDS: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// The fields of an object.
pub(super) fn fields(schema: &Value) -> &Map<String, Value> {
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.unwrap_or(&NO_FIELDS)
}

/// The names of the fields that must be there.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

pub(super) fn is_required(schema: &Value, key: &str) -> bool {
    required(schema).any(|name| name == key)
}

/// Smallest and largest number.
pub(super) fn range(schema: &Value) -> (f64, f64) {
    let limit = |name: &str| schema.get(name).and_then(Value::as_f64);
    let widest = match schema.get("format").and_then(Value::as_str) {
        Some("uint32") => (0.0, f64::from(u32::MAX)),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    (
        limit("minimum").unwrap_or(widest.0),
        limit("maximum").unwrap_or(widest.1),
    )
}

/// The alternative that a value is meant to be.
pub(super) fn choose<'s>(root: &'s Value, options: &[&'s Value], node: &Node) -> Option<&'s Value> {
    let fits = |option: &Value| match (shape(root, option), node) {
        (Shape::Text, Node::Scalar(value)) => value.is_string().then_some(0),
        (Shape::List(_), Node::Seq(_)) => Some(0),
        (Shape::Object(_), Node::Map(entries)) => {
            let known = |key: &str| fields(option).contains_key(key);
            Some(entries.iter().filter(|entry| known(&entry.key)).count())
        }
        _ => None,
    };
    let mut best: Option<(usize, &Value)> = None;
    for option in options {
        if let Some(score) = fits(option)
            && best.is_none_or(|(most, _)| score > most)
        {
            best = Some((score, option));
        }
    }
    best.map(|(_, option)| option)
}

/// Says below which field an unknown field belongs, if there is one.
pub(super) fn deeper(root: &Value, schema: &Value, key: &str) -> Option<String> {
    fields(schema).iter().find_map(|(name, field)| {
        let (_, field) = resolve(root, field);
        let each = field.get("items").map(|items| resolve(root, items).1);
        let inside = fields(each.unwrap_or(field)).contains_key(key);
        inside.then(|| format!("it belongs below `{name}`"))
    })
}

/// The least that has the shape of a schema.
pub(super) fn placeholder(root: &Value, schema: &Value) -> Value {
    let (_, schema) = resolve(root, schema);
    match shape(root, schema) {
        Shape::Any => Value::Null,
        Shape::Words(words) => words.first().copied().unwrap_or_default().into(),
        Shape::Variants(_) => json!({"type": "task", "handler": ""}),
        Shape::Either(options) => options
            .first()
            .map_or(Value::Null, |o| placeholder(root, o)),
        Shape::Object(_) => {
            let field = |name: &str| {
                Some((
                    name.to_owned(),
                    placeholder(root, fields(schema).get(name)?),
                ))
            };
            Value::Object(required(schema).filter_map(field).collect())
        }
        Shape::Table(_) => json!({}),
        Shape::List(_) => json!([]),
        Shape::Text => "".into(),
        Shape::Integer | Shape::Number => 1.into(),
        Shape::Flag => false.into(),
    }
}

impl Shape<'_> {
    /// How a message calls what is needed.
    pub(super) fn expected(&self, root: &Value) -> String {
        match self {
            Shape::Any => "a value".to_owned(),
            Shape::Words(words) => format!("one of {}", words.join(", ")),
            Shape::Variants(_) => "a node with its fields".to_owned(),
            Shape::Either(options) => {
                let mut names: Vec<_> = options
                    .iter()
                    .map(|o| shape(root, o).expected(root))
                    .collect();
                names.dedup();
                names.join(" or ")
            }
            Shape::Object(schema) => {
                let names: Vec<_> = fields(schema).keys().take(4).map(String::as_str).collect();
                format!("fields such as {}", names.join(", "))
            }
            Shape::Table(_) => "names, each with its value".to_owned(),
            Shape::List(_) => "a list".to_owned(),
            Shape::Text => "a text".to_owned(),
            Shape::Integer => "a whole number".to_owned(),
            Shape::Number => "a number".to_owned(),
            Shape::Flag => "true or false".to_owned(),
        }
    }
}

/// How a message calls what was found, with a hint how to make it what is needed.
pub(super) fn describe(node: &Node, shape: &Shape<'_>) -> (String, Option<String>) {
    let value = match node {
        Node::Seq(_) => return ("a list".to_owned(), None),
        Node::Map(_) => return ("fields".to_owned(), None),
        Node::Scalar(value) => &**value,
    };
    let texts = matches!(shape, Shape::Text | Shape::Words(_) | Shape::Either(_));
    match value {
        Value::Null => {
            let hint = "give it a value or remove the field";
            ("nothing".to_owned(), Some(hint.to_owned()))
        }
        Value::String(text) => {
            let hint = match shape {
                Shape::Integer | Shape::Number if text.parse::<f64>().is_ok() => {
                    Some("remove the quotes")
                }
                Shape::Flag
                    if matches!(
                        text.as_str(),
                        "yes" | "no" | "on" | "off" | "true" | "false"
                    ) =>
                {
                    Some("write true or false, without quotes")
                }
                _ => None,
            };
            let found = format!("the text `{}`", cut(text));
            (found, hint.map(str::to_owned))
        }
        Value::Bool(_) | Value::Number(_) if texts => {
            let hint = format!("as a text it is written \"{value}\"");
            (format!("the value {value}"), Some(hint))
        }
        _ => (format!("the value {value}"), None),
    }
}
