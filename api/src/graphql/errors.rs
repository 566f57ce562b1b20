//! Errors as GraphQL tells them: the parts of a fault travel as `extensions`.

use async_graphql::{Name, ServerError, Value};

use crate::error::{Fault, Problem};

/// Gives an error its code, category and remediation. Those of the library itself, about documents that do not fit
/// the schema, get a code too.
pub(super) fn explain(error: &mut ServerError) {
    let fault = error.source::<Fault>().cloned();
    let extensions = error.extensions.get_or_insert_default();
    let Some(fault) = fault else {
        if extensions.get("code").is_none() {
            extensions.set("code", "INVALID_DOCUMENT");
            extensions.set("category", "validation");
            extensions.set("remediation", "check the document against the schema");
        }
        return;
    };
    extensions.set("code", fault.code);
    extensions.set("category", fault.category.as_str());
    extensions.set("remediation", fault.remediation);
    extensions.set("userFixable", fault.user_fixable);
    if !fault.problems.is_empty() {
        let problems = fault.problems.into_iter().map(value);
        extensions.set("problems", Value::List(problems.collect()));
    }
}

fn value(problem: Problem) -> Value {
    let parts = [
        ("field", problem.field),
        ("code", problem.code),
        ("message", problem.message),
    ];
    let parts = parts
        .into_iter()
        .map(|(name, text)| (Name::new(name), Value::from(text)));
    Value::Object(parts.collect())
}
