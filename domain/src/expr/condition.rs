//! The short conditions of a conditional's branches: `"< 100"`, `"in [1, 2]"`, `"is_null"`.

use serde_json::Value;

use super::eval::{EvalError, compare, contains, truthy, type_error};
use super::parse::Comparison;

/// Longest condition.
const CONDITION_BYTES_MAX: usize = 4 * 1024;

/// An operator with its operand, applied to the value of `condition_field`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    operator: Operator,
    operand: Value,
}

/// Why a text is not a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCondition {
    #[error("`{0}` does not begin with an operator; known operators: {known}", known = NAMES.join(" "))]
    NoOperator(String),
    #[error("operator `{0}` needs a value behind it")]
    NoOperand(&'static str),
    #[error("operator `{0}` takes no value, but `{1}` follows")]
    ExtraOperand(&'static str, String),
    #[error("operator `{0}` needs a list such as [1, 2], not `{1}`")]
    NotAList(&'static str, String),
    #[error("a condition may have {CONDITION_BYTES_MAX} bytes")]
    TooLong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Compare(Comparison),
    Contains,
    StartsWith,
    EndsWith,
    IsNull,
    IsNotNull,
    Is(bool),
}

/// Longer spellings stand before their prefixes: `<=` is not `<` and a stray `=`.
const TABLE: [(&str, Operator); 15] = [
    ("==", Operator::Compare(Comparison::Equal)),
    ("!=", Operator::Compare(Comparison::NotEqual)),
    ("<=", Operator::Compare(Comparison::LessOrEqual)),
    (">=", Operator::Compare(Comparison::GreaterOrEqual)),
    ("<", Operator::Compare(Comparison::Less)),
    (">", Operator::Compare(Comparison::Greater)),
    ("not_in", Operator::Compare(Comparison::NotIn)),
    ("in", Operator::Compare(Comparison::In)),
    ("contains", Operator::Contains),
    ("starts_with", Operator::StartsWith),
    ("ends_with", Operator::EndsWith),
    ("is_null", Operator::IsNull),
    ("is_not_null", Operator::IsNotNull),
    ("true", Operator::Is(true)),
    ("false", Operator::Is(false)),
];

/// All operators, for messages.
pub(super) const NAMES: [&str; 15] = [
    "==",
    "!=",
    "<=",
    ">=",
    "<",
    ">",
    "not_in",
    "in",
    "contains",
    "starts_with",
    "ends_with",
    "is_null",
    "is_not_null",
    "true",
    "false",
];

impl Condition {
    /// Reads a condition. The operand is JSON; a bare word is a string.
    pub fn parse(text: &str) -> Result<Self, InvalidCondition> {
        let text = text.trim();
        if text.len() > CONDITION_BYTES_MAX {
            return Err(InvalidCondition::TooLong);
        }
        let (name, operator, rest) = TABLE
            .iter()
            .find_map(|(name, operator)| {
                let rest = text.strip_prefix(name)?;
                // A word must end where the operator ends: `internal` does not begin with `in`.
                let word = name.starts_with(|c: char| c.is_ascii_alphabetic());
                let goes_on = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                (!(word && goes_on)).then_some((*name, *operator, rest.trim()))
            })
            .ok_or_else(|| InvalidCondition::NoOperator(text.to_owned()))?;
        let takes_operand = !matches!(
            operator,
            Operator::IsNull | Operator::IsNotNull | Operator::Is(_)
        );
        match (takes_operand, rest.is_empty()) {
            (true, true) => return Err(InvalidCondition::NoOperand(name)),
            (false, false) => return Err(InvalidCondition::ExtraOperand(name, rest.to_owned())),
            _ => {}
        }
        let operand = operand(rest);
        let needs_list = matches!(
            operator,
            Operator::Compare(Comparison::In | Comparison::NotIn)
        );
        if needs_list && !operand.is_array() {
            return Err(InvalidCondition::NotAList(name, rest.to_owned()));
        }
        Ok(Self { operator, operand })
    }

    /// Whether the condition holds for `value`. A value of the wrong type is an error, never `false`.
    pub fn holds(&self, value: &Value) -> Result<bool, EvalError> {
        let text_pair = |name: &str| match (value, &self.operand) {
            (Value::String(text), Value::String(part)) => Ok((text.as_str(), part.as_str())),
            _ => Err(type_error(name, &[value, &self.operand])),
        };
        match self.operator {
            Operator::Compare(op) => compare(op, value, &self.operand),
            Operator::Contains => contains(value, &self.operand),
            Operator::StartsWith => text_pair("`starts_with`").map(|(t, p)| t.starts_with(p)),
            Operator::EndsWith => text_pair("`ends_with`").map(|(t, p)| t.ends_with(p)),
            Operator::IsNull => Ok(value.is_null()),
            Operator::IsNotNull => Ok(!value.is_null()),
            Operator::Is(wanted) => Ok(truthy(value) == wanted),
        }
    }

    /// Whether the condition has an answer for a value that is not there.
    #[must_use]
    pub fn accepts_null(&self) -> bool {
        matches!(self.operator, Operator::IsNull | Operator::IsNotNull)
    }
}

fn operand(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| {
        // Lists of bare words or single-quoted strings are common in hand-written files.
        match text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            Some(list) => list.split(',').map(|item| word(item.trim())).collect(),
            None => word(text),
        }
    })
}

/// JSON, or a bare or single-quoted word.
fn word(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| {
        let quoted = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
        quoted.unwrap_or(text).into()
    })
}
