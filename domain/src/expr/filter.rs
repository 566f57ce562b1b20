//! The filters (`x | lower`) and tests (`x is defined`) that exist.

use std::borrow::Cow;

use serde_json::Value;

use super::eval::{
    Budget, EvalError, Evaluated, Scope, display, evaluate, owned, truthy, type_error,
};
use super::number::{Num, arithmetic};
use super::parse::{Arithmetic, Expr};

/// A function behind `|`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    Abs,
    Basename,
    Bool,
    Default,
    First,
    Float,
    Int,
    Join,
    Keys,
    Last,
    Length,
    Lower,
    Max,
    Min,
    Replace,
    Round,
    Split,
    String,
    Sum,
    ToJson,
    Trim,
    Upper,
}

/// A question behind `is`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    Defined,
    Undefined,
    None,
    String,
    Number,
    Boolean,
    Sequence,
    Mapping,
}

impl Filter {
    const TABLE: [(&'static str, Self); 24] = [
        ("abs", Self::Abs),
        ("basename", Self::Basename),
        ("bool", Self::Bool),
        ("count", Self::Length),
        ("d", Self::Default),
        ("default", Self::Default),
        ("first", Self::First),
        ("float", Self::Float),
        ("int", Self::Int),
        ("join", Self::Join),
        ("keys", Self::Keys),
        ("last", Self::Last),
        ("length", Self::Length),
        ("lower", Self::Lower),
        ("max", Self::Max),
        ("min", Self::Min),
        ("replace", Self::Replace),
        ("round", Self::Round),
        ("split", Self::Split),
        ("string", Self::String),
        ("sum", Self::Sum),
        ("tojson", Self::ToJson),
        ("trim", Self::Trim),
        ("upper", Self::Upper),
    ];

    /// All names, for messages.
    pub const NAMES: [&'static str; 24] = {
        let mut names = [""; 24];
        let mut i = 0;
        while i < 24 {
            #[expect(clippy::indexing_slicing, reason = "checked at compile time")]
            {
                names[i] = Self::TABLE[i].0;
            }
            i += 1;
        }
        names
    };

    pub(super) fn find(name: &str) -> Option<Self> {
        Self::TABLE
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, filter)| *filter)
    }

    pub(super) fn name(self) -> &'static str {
        // `count` and `d` stand before their long names; the last row of a filter is its name.
        Self::TABLE
            .iter()
            .rev()
            .find(|(_, f)| *f == self)
            .map_or("?", |(name, _)| name)
    }

    /// Fewest and most arguments, and how a message says it.
    pub(super) fn arity(self) -> (usize, usize, &'static str) {
        match self {
            Self::Default => (1, 1, "one argument"),
            Self::Replace => (2, 2, "two arguments"),
            Self::Split => (1, 1, "one argument"),
            Self::Join | Self::Round => (0, 1, "at most one argument"),
            _ => (0, 0, "no argument"),
        }
    }

    pub(super) fn apply<'a>(
        self,
        inner: &'a Expr,
        args: &'a [Expr],
        scope: &'a dyn Scope,
        budget: &mut Budget,
    ) -> Evaluated<'a> {
        let value = match (evaluate(inner, scope, budget), self, args) {
            // Only `default` accepts what is not there; null counts as not there.
            (Ok(value), Self::Default, _) if !value.is_null() => return Ok(value),
            (Ok(_) | Err(EvalError::Undefined(_)), Self::Default, [fallback]) => {
                return evaluate(fallback, scope, budget);
            }
            (value, ..) => value?,
        };
        let mut rest = Vec::with_capacity(args.len());
        for arg in args {
            rest.push(evaluate(arg, scope, budget)?);
        }
        let result = self.compute(&value, &rest, budget)?;
        budget.produce(crate::json::size_bytes(&result))?;
        Ok(Cow::Owned(result))
    }

    fn compute(
        self,
        v: &Value,
        args: &[Cow<'_, Value>],
        budget: &mut Budget,
    ) -> Result<Value, EvalError> {
        let wrong = || type_error(&format!("filter `{}`", self.name()), &[v]);
        if let Value::Array(items) = v {
            budget.step(items.len())?;
        }
        Ok(match (self, v) {
            (Self::Lower, Value::String(s)) => s.to_lowercase().into(),
            (Self::Upper, Value::String(s)) => s.to_uppercase().into(),
            (Self::Trim, Value::String(s)) => s.trim().into(),
            (Self::Basename, Value::String(s)) => s.rsplit('/').next().unwrap_or_default().into(),
            (Self::Length, Value::String(s)) => s.chars().count().into(),
            (Self::Length, Value::Array(a)) => a.len().into(),
            (Self::Length, Value::Object(m)) => m.len().into(),
            (Self::First, Value::Array(a)) => a.first().cloned().ok_or_else(|| empty(self))?,
            (Self::Last, Value::Array(a)) => a.last().cloned().ok_or_else(|| empty(self))?,
            (Self::Keys, Value::Object(m)) => m.keys().map(|k| Value::from(k.as_str())).collect(),
            (Self::Join, Value::Array(a)) => {
                let glue = args.first().map(|g| display(g)).unwrap_or_default();
                budget.produce(glue.len().saturating_mul(a.len()))?;
                a.iter().map(display).collect::<Vec<_>>().join(&glue).into()
            }
            (Self::Split, Value::String(s)) => {
                let by = text_argument(self, args, 0)?;
                s.split(by).map(Value::from).collect()
            }
            (Self::Replace, Value::String(s)) => {
                let (from, to) = (text_argument(self, args, 0)?, text_argument(self, args, 1)?);
                budget.produce(to.len().saturating_mul(s.matches(from).count()))?;
                s.replace(from, to).into()
            }
            (Self::String, _) => display(v).into(),
            (Self::ToJson, _) => v.to_string().into(),
            (Self::Bool, _) => truthy(v).into(),
            (Self::Int, _) => to_int(v).ok_or_else(wrong)?,
            (Self::Float, _) => to_float(v).ok_or_else(wrong)?,
            (Self::Abs | Self::Round, _) => {
                number_filter(self, Num::of(v).ok_or_else(wrong)?, args)?
            }
            (Self::Min | Self::Max | Self::Sum, Value::Array(a)) => fold_numbers(self, a)?,
            _ => return Err(wrong()),
        })
    }
}

fn empty(filter: Filter) -> EvalError {
    EvalError::Type {
        operation: format!("filter `{}`", filter.name()),
        found: "an empty list".into(),
    }
}

fn text_argument<'v>(
    filter: Filter,
    args: &'v [Cow<'_, Value>],
    at: usize,
) -> Result<&'v str, EvalError> {
    match args.get(at).map(|v| &**v) {
        Some(Value::String(text)) if !(text.is_empty() && at == 0) => Ok(text),
        other => Err(type_error(
            &format!("an argument of filter `{}`", filter.name()),
            &[other.unwrap_or(&Value::Null)],
        )),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "checked against the exact range of i64 first"
)]
fn to_int(value: &Value) -> Option<Value> {
    match value {
        Value::Number(n) if n.is_i64() || n.is_u64() => Some(value.clone()),
        Value::Number(n) => n
            .as_f64()
            .filter(|f| f.abs() < 9.2e18)
            .map(|f| (f as i64).into()),
        Value::String(text) => text.trim().parse::<i64>().ok().map(Value::from),
        Value::Bool(flag) => Some(i64::from(*flag).into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn to_float(value: &Value) -> Option<Value> {
    let float = match value {
        Value::Number(n) => n.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    serde_json::Number::from_f64(float).map(Value::Number)
}

fn number_filter(filter: Filter, number: Num, args: &[Cow<'_, Value>]) -> Result<Value, EvalError> {
    let digits = args
        .first()
        .and_then(|v| v.as_i64())
        .unwrap_or(0)
        .clamp(0, 12);
    match (filter, number) {
        (Filter::Abs, Num::Int(i)) => Num::Int(i.saturating_abs()),
        (Filter::Abs, Num::Float(f)) => Num::Float(f.abs()),
        (_, Num::Int(i)) => Num::Int(i),
        (_, Num::Float(f)) => {
            let scale = (0..digits).fold(1.0, |scale, _| scale * 10.0);
            Num::Float((f * scale).round() / scale)
        }
    }
    .into_value()
}

pub(super) fn fold_numbers(filter: Filter, items: &[Value]) -> Result<Value, EvalError> {
    let mut result: Option<Value> = None;
    for item in items {
        let number = Num::of(item)
            .ok_or_else(|| type_error(&format!("filter `{}`", filter.name()), &[item]))?;
        result = Some(match (filter, result.as_ref().and_then(Num::of)) {
            (_, None) => item.clone(),
            (Filter::Sum, Some(so_far)) => arithmetic(Arithmetic::Add, so_far, number)?,
            (Filter::Min, Some(so_far)) if number.compare(so_far).is_lt() => item.clone(),
            (Filter::Max, Some(so_far)) if number.compare(so_far).is_gt() => item.clone(),
            (_, Some(so_far)) => so_far.into_value()?,
        });
    }
    match (result, filter) {
        (Some(value), _) => Ok(value),
        (None, Filter::Sum) => Ok(0.into()),
        (None, _) => Err(empty(filter)),
    }
}

impl Test {
    const TABLE: [(&'static str, Self); 8] = [
        ("defined", Self::Defined),
        ("undefined", Self::Undefined),
        ("none", Self::None),
        ("string", Self::String),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("sequence", Self::Sequence),
        ("mapping", Self::Mapping),
    ];

    /// All names, for messages.
    pub const NAMES: [&'static str; 8] = [
        "defined",
        "undefined",
        "none",
        "string",
        "number",
        "boolean",
        "sequence",
        "mapping",
    ];

    pub(super) fn find(name: &str) -> Option<Self> {
        Self::TABLE
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, test)| *test)
    }

    pub(super) fn takes_undefined(self) -> bool {
        matches!(self, Self::Defined | Self::Undefined)
    }

    pub(super) fn apply<'a>(
        self,
        inner: &'a Expr,
        scope: &'a dyn Scope,
        budget: &mut Budget,
    ) -> Evaluated<'a> {
        let value = match evaluate(inner, scope, budget) {
            Err(EvalError::Undefined(_)) if self.takes_undefined() => None,
            other => Some(other?),
        };
        let answer = match (self, value.as_deref()) {
            (Self::Defined, found) => found.is_some(),
            (Self::Undefined, found) => found.is_none(),
            (Self::None, Some(v)) => v.is_null(),
            (Self::String, Some(v)) => v.is_string(),
            (Self::Number, Some(v)) => v.is_number(),
            (Self::Boolean, Some(v)) => v.is_boolean(),
            (Self::Sequence, Some(v)) => v.is_array(),
            (Self::Mapping, Some(v)) => v.is_object(),
            (_, None) => false,
        };
        owned(Cow::Owned(Value::Bool(answer)), budget).map(Cow::Owned)
    }
}
