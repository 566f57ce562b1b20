//! Tasks against the declarations of their handlers.

use serde_json::{Map, Value};

use super::super::code::Code;
use super::super::inputs::{Misfit, fits, type_name};
use super::super::model::{Input, Node, ValueType};
use super::super::place::Path;
use super::super::report::Report;
use super::super::structure::cut;
use super::targets::Nodes;
use crate::expr::Template;
use crate::handler::{Catalog, Handler};

/// The parameter that a joining handler gets from the engine.
const PREVIOUS_RESULTS: &str = "previous_results";

/// What a node runs.
pub(super) struct Call<'w> {
    pub(super) handler: &'w str,
    pub(super) params: &'w Map<String, Value>,
    /// The engine adds `previous_results`.
    joins: bool,
    pub(super) path: Path,
}

/// The handler that a node runs, with its parameters.
pub(super) fn call<'w>(name: &str, node: &'w Node) -> Option<Call<'w>> {
    let path = Path::of(["nodes", name]);
    match node {
        Node::Task(task) => Some(Call {
            handler: &task.handler,
            params: &task.params,
            joins: false,
            path,
        }),
        Node::FanOut(fan_out) => Some(Call {
            handler: &fan_out.task.handler,
            params: &fan_out.task.params,
            joins: false,
            path: path.then("task"),
        }),
        Node::FanIn(fan_in) => Some(Call {
            handler: fan_in.handler.as_deref()?,
            params: &fan_in.params,
            joins: true,
            path,
        }),
        Node::Start(_) | Node::End(_) | Node::Conditional(_) => None,
    }
}

/// Checks each handler's name and the names of its parameters.
pub(super) fn check(report: &mut Report<'_>, nodes: &Nodes, catalog: &Catalog) {
    for (name, node) in nodes {
        let Some(call) = call(name, node) else {
            continue;
        };
        let path = call.path.then("handler");
        match catalog.find(call.handler) {
            Some(handler) => params(report, &call, handler),
            None if report.is_doubtful(&path) => {}
            None => {
                let meant = report.suggest(call.handler, catalog.names());
                let hint = meant.map_or_else(
                    || {
                        let names: Vec<_> =
                            catalog.iter().take(12).map(|h| h.name.as_str()).collect();
                        format!("known are {}", names.join(", "))
                    },
                    |meant| format!("did you mean `{meant}`?"),
                );
                let message = format!("the handler `{}` does not exist", cut(call.handler));
                report.value(&path, Code::UnknownHandler, message, Some(hint));
            }
        }
    }
}

fn params(report: &mut Report<'_>, call: &Call<'_>, handler: &Handler) {
    let path = call.path.then("params");
    for name in call.params.keys() {
        if handler.params.contains_key(name) || handler.open_params {
            continue;
        }
        let meant = report.suggest(name, handler.params.keys().map(String::as_str));
        let hint = meant.map_or_else(
            || {
                let names: Vec<_> = handler.params.keys().map(String::as_str).collect();
                format!("it takes {}", names.join(", "))
            },
            |meant| format!("did you mean `{meant}`?"),
        );
        let message = format!("`{}` takes no parameter `{}`", handler.name, cut(name));
        report.key(&path.then(name), Code::UnknownParam, message, Some(hint));
    }
    if report.is_doubtful(&path) {
        return;
    }
    // Where the parameters would stand if there were any.
    let whole = if call.params.is_empty() {
        &call.path
    } else {
        &path
    };
    let given =
        |name: &str| call.params.contains_key(name) || (call.joins && name == PREVIOUS_RESULTS);
    for (name, input) in &handler.params {
        if input.required && input.default.is_none() && !given(name) {
            let message = format!("`{}` needs the parameter `{name}`", handler.name);
            let hint = input.description.clone();
            report.key(whole, Code::MissingParam, message, hint);
        }
    }
    let complete = handler
        .one_of
        .iter()
        .any(|set| set.iter().all(|name| given(name)));
    if !handler.one_of.is_empty() && !complete {
        let sets: Vec<_> = handler.one_of.iter().map(|set| set.join(" + ")).collect();
        let message = format!("`{}` needs one of: {}", handler.name, sets.join("; "));
        report.key(whole, Code::ParamSet, message, None);
    }
}

/// Checks what is known about the value of a parameter before anything runs.
pub(super) fn value(report: &mut Report<'_>, input: &Input, template: &Template, path: &Path) {
    let kind = match template {
        Template::Literal(value) => {
            match fits(input, value) {
                Ok(()) => {}
                Err(Misfit::Type(message)) => report.value(path, Code::ParamType, message, None),
                Err(Misfit::Value(message)) => report.value(path, Code::ParamValue, message, None),
            }
            return;
        }
        Template::Expr(_) => return,
        Template::Text(_) => ValueType::String,
        Template::List(_) => ValueType::Array,
        Template::Map(_) => ValueType::Object,
    };
    if kind != input.kind {
        let (wanted, found) = (type_name(input.kind), type_name(kind));
        let message = format!("expected {wanted}, found {found}");
        let hint = "only a text that is exactly one {{ }} keeps the type of its value".to_owned();
        let hint = (kind == ValueType::String).then_some(hint);
        report.value(path, Code::ParamType, message, hint);
    }
}
