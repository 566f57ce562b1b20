//! Values against their declaration: what a submission gives, a default, a literal parameter.

use std::collections::BTreeMap;

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::model::{Input, ValueType};
use super::structure::cut;
use crate::json::{DEPTH_MAX, is_deeper_than};
use crate::suggest::did_you_mean;

/// Longest text that a pattern is applied to: matching costs its length times that of the pattern.
const MATCHED_BYTES_MAX: usize = 16 * 1024;
/// Largest compiled pattern.
const PATTERN_BYTES_MAX: usize = 64 * 1024;

/// What is wrong with one input of a submission.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct InputProblem {
    pub name: String,
    pub message: String,
}

/// Why a value does not fit its declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// It has another type.
    Type(String),
    /// It has the type, but is not allowed.
    Value(String),
}

impl Misfit {
    /// The reason, in words.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Type(message) | Self::Value(message) => message,
        }
    }
}

/// The inputs of a job: what was given, completed by defaults; or everything that is wrong with it.
///
/// Null counts as not given.
pub fn resolve_inputs(
    declared: &BTreeMap<String, Input>,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<InputProblem>> {
    let mut resolved = Map::new();
    let mut problems = Vec::new();
    let mut problem = |name: &str, message: String| {
        let name = name.to_owned();
        problems.push(InputProblem { name, message });
    };
    for name in given.keys().filter(|name| !declared.contains_key(*name)) {
        let hint = did_you_mean(name, declared.keys().map(String::as_str));
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        let message = format!("the workflow has no input `{}`{hint}", cut(name));
        problem(&cut(name), message);
    }
    for (name, input) in declared {
        match (given.get(name).filter(|v| !v.is_null()), &input.default) {
            (Some(value), _) if is_deeper_than(value, DEPTH_MAX) => {
                problem(
                    name,
                    format!("the input `{name}` is nested deeper than {DEPTH_MAX} levels"),
                );
            }
            (Some(value), _) => match fits(input, value) {
                Ok(()) => {
                    resolved.insert(name.clone(), value.clone());
                }
                Err(misfit) => problem(name, misfit.message().to_owned()),
            },
            (None, Some(default)) => {
                resolved.insert(name.clone(), default.clone());
            }
            (None, None) if input.required => {
                problem(name, format!("the input `{name}` is required"));
            }
            (None, None) => {}
        }
    }
    if problems.is_empty() {
        Ok(resolved)
    } else {
        Err(problems)
    }
}

/// Whether a value fits its declaration.
pub fn fits(input: &Input, value: &Value) -> Result<(), Misfit> {
    if !has_type(input.kind, value) {
        let wanted = type_name(input.kind);
        let found = match value {
            Value::Number(n) if n.is_f64() && input.kind == ValueType::Integer => n.to_string(),
            Value::String(text) => format!("the text `{}`", cut(text)),
            other => json_kind(other).to_owned(),
        };
        return Err(Misfit::Type(format!("expected {wanted}, found {found}")));
    }
    if let Some(choices) = &input.choices
        && !choices.iter().any(|choice| same(choice, value))
    {
        let known: Vec<_> = choices.iter().take(20).map(ToString::to_string).collect();
        let message = format!("{} is not one of {}", shown(value), known.join(", "));
        return Err(Misfit::Value(message));
    }
    within(input, value)?;
    matches(input, value)
}

/// Whether a value has a type. A whole number is a number too.
#[must_use]
pub fn has_type(kind: ValueType, value: &Value) -> bool {
    match kind {
        ValueType::String => value.is_string(),
        ValueType::Integer => value.is_i64() || value.is_u64(),
        ValueType::Number => value.is_number(),
        ValueType::Boolean => value.is_boolean(),
        ValueType::Array => value.is_array(),
        ValueType::Object => value.is_object(),
    }
}

/// How a message calls a type.
#[must_use]
pub fn type_name(kind: ValueType) -> &'static str {
    match kind {
        ValueType::String => "a string",
        ValueType::Integer => "an integer",
        ValueType::Number => "a number",
        ValueType::Boolean => "a boolean",
        ValueType::Array => "an array",
        ValueType::Object => "an object",
    }
}

/// The compiled pattern, which must match a whole text.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    // Alone first: `a)(b` would be fine in the group below, and mean something else.
    let compile = |text: &str| {
        let mut builder = RegexBuilder::new(text);
        builder.size_limit(PATTERN_BYTES_MAX).build()
    };
    compile(text)
        .and_then(|_| compile(&format!("^(?:{text})$")))
        .map_err(|error| error.to_string())
}

fn within(input: &Input, value: &Value) -> Result<(), Misfit> {
    let (size, unit) = match value {
        Value::Number(number) => (number.as_f64().unwrap_or_default(), ""),
        Value::String(text) => (count(text.chars().count()), " characters"),
        Value::Array(items) => (count(items.len()), " items"),
        Value::Null | Value::Bool(_) | Value::Object(_) => return Ok(()),
    };
    let message = match (input.min, input.max) {
        (Some(min), _) if size < min => format!("{size}{unit} is less than {min}"),
        (_, Some(max)) if size > max => format!("{size}{unit} is more than {max}"),
        _ => return Ok(()),
    };
    Err(Misfit::Value(message))
}

fn matches(input: &Input, value: &Value) -> Result<(), Misfit> {
    let (Some(wanted), Value::String(text)) = (&input.pattern, value) else {
        return Ok(());
    };
    if text.len() > MATCHED_BYTES_MAX {
        let message = format!("a text with a pattern has at most {MATCHED_BYTES_MAX} bytes");
        return Err(Misfit::Value(message));
    }
    match pattern(wanted) {
        // A pattern that does not compile is a problem of the declaration, not of the value.
        Ok(regex) if !regex.is_match(text) => {
            let message = format!("`{}` does not match the pattern {wanted}", cut(text));
            Err(Misfit::Value(message))
        }
        _ => Ok(()),
    }
}

/// Equality that knows that 1 and 1.0 are the same number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
