//! Declarations of inputs: they must not contradict themselves.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::code::Code;
use super::super::inputs::{fits, has_type, pattern, type_name};
use super::super::model::{Input, ValueType};
use super::super::place::Path;
use super::super::report::Report;
use super::super::structure::cut;

const NAME_CHARS_MAX: usize = 64;

/// Checks all inputs of a workflow.
pub(super) fn check(report: &mut Report<'_>, inputs: &BTreeMap<String, Input>) {
    for (name, input) in inputs {
        let path = Path::of(["inputs", name]);
        input_name(report, name, &path);
        if !report.is_doubtful(&path.then("type")) {
            rules(report, input, &path);
            choices(report, input, &path);
        }
        contradictions(report, input, &path);
        if let Some(default) = &input.default {
            default_value(report, input, default, &path);
        }
    }
}

fn input_name(report: &mut Report<'_>, name: &str, path: &Path) {
    let mut chars = name.chars();
    let starts = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if name.len() > NAME_CHARS_MAX || !starts || !goes_on {
        let message = format!("`{}` cannot be the name of an input", cut(name));
        let hint =
            format!("a letter or `_`, then letters, digits and `_`; at most {NAME_CHARS_MAX}");
        report.key(path, Code::InputName, message, Some(hint));
    }
}

/// A rule that the type makes meaningless would be accepted and ignored.
fn rules(report: &mut Report<'_>, input: &Input, path: &Path) {
    let sized = !matches!(input.kind, ValueType::Boolean | ValueType::Object);
    let kind = type_name(input.kind);
    for (field, given) in [("min", input.min), ("max", input.max)] {
        if given.is_some() && !sized {
            let message = format!("`{field}` has no meaning for {kind}");
            report.key(&path.then(field), Code::RuleForType, message, None);
        }
    }
    if let Some(text) = &input.pattern {
        let at = path.then("pattern");
        if input.kind != ValueType::String {
            let message = format!("`pattern` has no meaning for {kind}");
            report.key(&at, Code::RuleForType, message, None);
        } else if let Err(error) = pattern(text) {
            let message = format!("the pattern cannot be used: {error}");
            report.value(&at, Code::BadRegex, message, None);
            report.poison(at);
        }
    }
}

fn choices(report: &mut Report<'_>, input: &Input, path: &Path) {
    for (index, choice) in input.choices.iter().flatten().enumerate() {
        if !has_type(input.kind, choice) {
            let message = format!("{choice} is not {}", type_name(input.kind));
            let at = path.then("enum").then(index);
            report.value(&at, Code::RuleForType, message, None);
        }
    }
}

fn contradictions(report: &mut Report<'_>, input: &Input, path: &Path) {
    if let (Some(min), Some(max)) = (input.min, input.max)
        && min > max
    {
        let message = format!("`min` {min} is more than `max` {max}");
        report.value(&path.then("min"), Code::InputContradiction, message, None);
    }
    if input.required && input.default.is_some() {
        let message = "an input that must be given needs no default";
        let hint = "remove `required: true` or the default".to_owned();
        report.key(
            &path.then("default"),
            Code::InputContradiction,
            message,
            Some(hint),
        );
    }
}

fn default_value(report: &mut Report<'_>, input: &Input, default: &Value, path: &Path) {
    let doubtful = ["type", "enum", "min", "max", "pattern"]
        .iter()
        .any(|field| report.is_doubtful(&path.then(field)));
    let at = path.then("default");
    if default.as_str().is_some_and(|text| text.contains("{{")) {
        let message = "a default is a plain value, not a template";
        report.value(&at, Code::BadDefault, message, None);
    } else if let (false, Err(misfit)) = (doubtful, fits(input, default)) {
        report.value(&at, Code::BadDefault, misfit.message(), None);
    }
}
