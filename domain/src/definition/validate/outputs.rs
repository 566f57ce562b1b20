//! What a node returns, as far as it is declared.

use std::collections::BTreeMap;

use super::super::inputs::type_name;
use super::super::model::{Aggregation, Node, ValueType};
use crate::expr::Segment;
use crate::handler::{Catalog, Output};

/// What a node returns.
pub(super) enum Returned {
    /// It has no output.
    Nothing,
    /// Its handler is not known, so that nothing can be said.
    Unknown,
    /// These fields, each with its declaration; `None` if its content is open.
    Fields(BTreeMap<String, Option<Output>>),
}

/// What a node returns.
pub(super) fn of(node: &Node, catalog: &Catalog) -> Returned {
    let handler = match node {
        Node::Start(_) | Node::End(_) => return Returned::Nothing,
        Node::Conditional(_) => return built_in(&[("branch", Some(ValueType::Integer))]),
        Node::FanOut(_) => return built_in(&[("count", Some(ValueType::Integer))]),
        Node::FanIn(fan_in) => match &fan_in.handler {
            Some(handler) => handler,
            None => return joined(fan_in.aggregation),
        },
        Node::Task(task) => &task.handler,
    };
    match catalog.find(handler) {
        Some(handler) => {
            let fields = handler.outputs.iter();
            Returned::Fields(
                fields
                    .map(|(name, o)| (name.clone(), Some(o.clone())))
                    .collect(),
            )
        }
        None => Returned::Unknown,
    }
}

fn joined(aggregation: Aggregation) -> Returned {
    let count = ("count", Some(ValueType::Integer));
    match aggregation {
        Aggregation::Collect | Aggregation::Concat => built_in(&[
            ("results", Some(ValueType::Array)),
            count,
            ("manifest", None),
        ]),
        Aggregation::Sum => built_in(&[("total", Some(ValueType::Number)), count]),
        Aggregation::First | Aggregation::Last => built_in(&[("result", None), count]),
    }
}

fn built_in(fields: &[(&str, Option<ValueType>)]) -> Returned {
    let field = |(name, kind): &(&str, Option<ValueType>)| {
        let output = kind.map(|kind| Output::new(kind, ""));
        ((*name).to_owned(), output)
    };
    Returned::Fields(fields.iter().map(field).collect())
}

/// The type of what lies below a declared field; the reason if nothing can lie there.
pub(super) fn below(output: &Output, rest: &[Segment]) -> Result<Option<ValueType>, String> {
    let Some((segment, rest)) = rest.split_first() else {
        return Ok(Some(output.kind));
    };
    match (output.kind, segment) {
        (ValueType::Object, Segment::Key(key)) => match &output.fields {
            None => Ok(None),
            Some(fields) => match fields.get(&**key) {
                Some(field) => below(field, rest),
                None => {
                    let names: Vec<_> = fields.keys().map(String::as_str).collect();
                    Err(format!(
                        "it has the fields {}, not `{key}`",
                        names.join(", ")
                    ))
                }
            },
        },
        (ValueType::Array, Segment::Index(_)) => Ok(None),
        (kind, Segment::Key(key)) => Err(format!(
            "it is {}, without a field `{key}`",
            type_name(kind)
        )),
        (kind, Segment::Index(_)) => Err(format!("it is {}, without items", type_name(kind))),
    }
}
