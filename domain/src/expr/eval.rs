//! Evaluation: total, typed, and bounded in steps and bytes.

use std::borrow::Cow;

use serde_json::Value;

use super::number::{Num, arithmetic};
use super::parse::{Arithmetic, Comparison, Expr, Segment};

/// Steps one template or condition may take.
pub(super) const STEPS_MAX: u32 = 10_000;
/// Bytes one template or condition may produce on its way.
pub(super) const BYTES_MAX: usize = 512 * 1024;

/// What an expression can see.
pub trait Scope {
    /// Finds the value that a prefix of `path` names; returns it with the length of that prefix.
    ///
    /// The evaluator walks the rest of the path through the value.
    fn find(&self, path: &[Segment]) -> Option<(Cow<'_, Value>, usize)>;

    /// Why a path leads nowhere.
    fn missing(&self, path: &[Segment]) -> EvalError {
        EvalError::Undefined(path_text(path))
    }
}

/// Why an evaluation has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    #[error("`{0}` is not defined")]
    Undefined(String),
    /// It may be there, but not where templates can read.
    #[error(
        "`{path}` cannot be read: the output of `{node}` was too large to stay inline; let the handler return \
         this field in less than 4 KB, or read the whole from `result_path`"
    )]
    NotInline { path: String, node: String },
    #[error("{operation} does not work on {found}")]
    Type { operation: String, found: String },
    #[error("division by zero")]
    DivisionByZero,
    #[error("the number is too large")]
    Overflow,
    #[error("the expression takes more than {STEPS_MAX} steps")]
    TooManySteps,
    #[error("the expression produces more than {BYTES_MAX} bytes")]
    TooLarge,
}

/// What is left of an evaluation's allowance.
#[derive(Debug, Clone)]
pub struct Budget {
    steps: u32,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            steps: STEPS_MAX,
            bytes: BYTES_MAX,
        }
    }
}

impl Budget {
    pub(super) fn step(&mut self, steps: usize) -> Result<(), EvalError> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        self.steps = self
            .steps
            .checked_sub(steps)
            .ok_or(EvalError::TooManySteps)?;
        Ok(())
    }

    pub(super) fn produce(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(EvalError::TooLarge)?;
        Ok(())
    }
}

pub(super) type Evaluated<'a> = Result<Cow<'a, Value>, EvalError>;

/// The value of `expr` in `scope`.
pub fn evaluate<'a>(expr: &'a Expr, scope: &'a dyn Scope, budget: &mut Budget) -> Evaluated<'a> {
    budget.step(1)?;
    match expr {
        Expr::Const(value) => Ok(Cow::Borrowed(value)),
        Expr::Path(path) => walk(path, scope, budget),
        Expr::Item(inner, key) => item(inner, key, scope, budget),
        Expr::Not(inner) => {
            let value = evaluate(inner, scope, budget)?;
            Ok(Cow::Owned(Value::Bool(!truthy(&value))))
        }
        Expr::Negate(inner) => {
            let value = evaluate(inner, scope, budget)?;
            let number = Num::of(&value).ok_or_else(|| type_error("`-`", &[&value]))?;
            arithmetic(Arithmetic::Subtract, Num::Int(0), number).map(Cow::Owned)
        }
        Expr::And(a, b) => {
            let value = evaluate(a, scope, budget)?;
            if truthy(&value) {
                evaluate(b, scope, budget)
            } else {
                Ok(value)
            }
        }
        Expr::Or(a, b) => {
            let value = evaluate(a, scope, budget)?;
            if truthy(&value) {
                Ok(value)
            } else {
                evaluate(b, scope, budget)
            }
        }
        Expr::Arithmetic(op, a, b) => {
            let (a, b) = (evaluate(a, scope, budget)?, evaluate(b, scope, budget)?);
            combine(*op, &a, &b, budget).map(Cow::Owned)
        }
        Expr::Compare(first, rest) => chain(first, rest, scope, budget),
        Expr::If {
            test,
            then,
            otherwise,
        } => {
            let taken = truthy(&*evaluate(test, scope, budget)?);
            evaluate(if taken { then } else { otherwise }, scope, budget)
        }
        Expr::Filter(filter, inner, args) => filter.apply(inner, args, scope, budget),
        Expr::Test(test, inner) => test.apply(inner, scope, budget),
        Expr::List(items) => {
            let mut list = Vec::with_capacity(items.len());
            for each in items {
                list.push(owned(evaluate(each, scope, budget)?, budget)?);
            }
            Ok(Cow::Owned(Value::Array(list)))
        }
        Expr::Map(entries) => {
            let mut map = serde_json::Map::new();
            for (key, each) in entries {
                map.insert(key.clone(), owned(evaluate(each, scope, budget)?, budget)?);
            }
            Ok(Cow::Owned(Value::Object(map)))
        }
    }
}

/// Whether a value counts as true: not null, false, zero or empty.
#[must_use]
pub fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Takes the value over, charging for the copy.
pub(super) fn owned(value: Cow<'_, Value>, budget: &mut Budget) -> Result<Value, EvalError> {
    if let Cow::Borrowed(borrowed) = &value {
        budget.produce(crate::json::size_bytes(*borrowed))?;
    }
    Ok(value.into_owned())
}

pub(super) fn type_error(operation: &str, values: &[&Value]) -> EvalError {
    let kinds: Vec<_> = values.iter().map(|v| kind(v)).collect();
    EvalError::Type {
        operation: operation.to_owned(),
        found: kinds.join(" and "),
    }
}

/// How a person calls the type of a value.
#[must_use]
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Equality that knows that 1 and 1.0 are the same number.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (Num::of(a), Num::of(b)) {
        (Some(a), Some(b)) => a.compare(b).is_eq(),
        _ => a == b,
    }
}

pub(super) fn compare(op: Comparison, a: &Value, b: &Value) -> Result<bool, EvalError> {
    use std::cmp::Ordering;
    let order = |symbol: &str| -> Result<Ordering, EvalError> {
        match (a, b) {
            (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
            _ => match (Num::of(a), Num::of(b)) {
                (Some(a), Some(b)) => Ok(a.compare(b)),
                _ => Err(type_error(symbol, &[a, b])),
            },
        }
    };
    Ok(match op {
        Comparison::Equal => equal(a, b),
        Comparison::NotEqual => !equal(a, b),
        Comparison::Less => order("`<`")?.is_lt(),
        Comparison::LessOrEqual => order("`<=`")?.is_le(),
        Comparison::Greater => order("`>`")?.is_gt(),
        Comparison::GreaterOrEqual => order("`>=`")?.is_ge(),
        Comparison::In => contains(b, a)?,
        Comparison::NotIn => !contains(b, a)?,
    })
}

/// Whether `whole` has `part`: an item of a list, a key of an object, a piece of a string.
pub(super) fn contains(whole: &Value, part: &Value) -> Result<bool, EvalError> {
    match (whole, part) {
        (Value::Array(items), _) => Ok(items.iter().any(|item| equal(item, part))),
        (Value::Object(map), Value::String(key)) => Ok(map.contains_key(key)),
        (Value::String(text), Value::String(piece)) => Ok(text.contains(piece.as_str())),
        _ => Err(type_error("`in`", &[part, whole])),
    }
}

fn walk<'a>(path: &'a [Segment], scope: &'a dyn Scope, budget: &mut Budget) -> Evaluated<'a> {
    let undefined = || scope.missing(path);
    let (value, consumed) = scope.find(path).ok_or_else(undefined)?;
    let rest = path.get(consumed..).unwrap_or_default();
    match value {
        Cow::Borrowed(value) => {
            let found = rest.iter().try_fold(value, get);
            found.map(Cow::Borrowed).ok_or_else(undefined)
        }
        Cow::Owned(value) => {
            // The scope has made it for this look: it counts like anything else that is made.
            budget.produce(crate::json::size_bytes(&value))?;
            let found = rest.iter().try_fold(&value, get);
            found.cloned().map(Cow::Owned).ok_or_else(undefined)
        }
    }
}

fn get<'v>(value: &'v Value, segment: &Segment) -> Option<&'v Value> {
    match (value, segment) {
        (Value::Object(map), Segment::Key(key)) => map.get(&**key),
        (Value::Array(items), Segment::Index(index)) => {
            let index = if *index < 0 {
                items
                    .len()
                    .checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
            } else {
                usize::try_from(*index).ok()?
            };
            items.get(index)
        }
        _ => None,
    }
}

pub(crate) fn path_text(path: &[Segment]) -> String {
    path.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(".")
}

fn item<'a>(
    inner: &'a Expr,
    key: &'a Expr,
    scope: &'a dyn Scope,
    budget: &mut Budget,
) -> Evaluated<'a> {
    let value = evaluate(inner, scope, budget)?;
    let key = evaluate(key, scope, budget)?;
    let segment = match &*key {
        Value::String(text) => Segment::Key(text.as_str().into()),
        Value::Number(n) if n.is_i64() => Segment::Index(n.as_i64().unwrap_or_default()),
        other => return Err(type_error("`[ ]`", &[&value, other])),
    };
    let undefined = EvalError::Undefined(format!("[{segment}]"));
    match value {
        Cow::Borrowed(value) => get(value, &segment).map(Cow::Borrowed).ok_or(undefined),
        Cow::Owned(value) => get(&value, &segment)
            .cloned()
            .map(Cow::Owned)
            .ok_or(undefined),
    }
}

fn chain<'a>(
    first: &'a Expr,
    rest: &'a [(Comparison, Expr)],
    scope: &'a dyn Scope,
    budget: &mut Budget,
) -> Evaluated<'a> {
    let mut left = evaluate(first, scope, budget)?;
    for (op, right) in rest {
        let right = evaluate(right, scope, budget)?;
        if let Value::Array(items) = &*right {
            budget.step(items.len())?;
        }
        if !compare(*op, &left, &right)? {
            return Ok(Cow::Owned(Value::Bool(false)));
        }
        left = right;
    }
    Ok(Cow::Owned(Value::Bool(true)))
}

fn combine(op: Arithmetic, a: &Value, b: &Value, budget: &mut Budget) -> Result<Value, EvalError> {
    match (op, a, b) {
        (Arithmetic::Concat, ..) | (Arithmetic::Add, Value::String(_), Value::String(_)) => {
            let text = display(a) + &display(b);
            budget.produce(text.len())?;
            Ok(Value::String(text))
        }
        (Arithmetic::Add, Value::Array(x), Value::Array(y)) => {
            budget.produce(crate::json::size_bytes(a) + crate::json::size_bytes(b))?;
            Ok(Value::Array(x.iter().chain(y).cloned().collect()))
        }
        _ => match (Num::of(a), Num::of(b)) {
            (Some(x), Some(y)) => arithmetic(op, x, y),
            _ => Err(type_error(symbol(op), &[a, b])),
        },
    }
}

/// How a value looks inside a longer text.
pub(super) fn display(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn symbol(op: Arithmetic) -> &'static str {
    match op {
        Arithmetic::Add => "`+`",
        Arithmetic::Subtract => "`-`",
        Arithmetic::Multiply => "`*`",
        Arithmetic::Divide => "`/`",
        Arithmetic::FloorDivide => "`//`",
        Arithmetic::Remainder => "`%`",
        Arithmetic::Concat => "`~`",
    }
}
