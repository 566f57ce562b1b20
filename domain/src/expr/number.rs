//! Arithmetic on JSON numbers: integers stay integers, nothing overflows silently.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::eval::EvalError;
use super::parse::Arithmetic;

/// A JSON number, as integer where it is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Num {
    Int(i128),
    Float(f64),
}

impl Num {
    pub(super) fn of(value: &Value) -> Option<Self> {
        let number = value.as_number()?;
        number
            .as_i128()
            .map(Self::Int)
            .or_else(|| number.as_f64().map(Self::Float))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "JSON consumers see the same double"
    )]
    pub(super) fn as_f64(self) -> f64 {
        match self {
            Self::Int(i) => i as f64,
            Self::Float(f) => f,
        }
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            // JSON has no NaN, so this is a total order.
            (a, b) => a
                .as_f64()
                .partial_cmp(&b.as_f64())
                .unwrap_or(Ordering::Equal),
        }
    }

    pub(super) fn into_value(self) -> Result<Value, EvalError> {
        let number = match self {
            Self::Int(i) => Number::from_i128(i).filter(|n| n.is_i64() || n.is_u64()),
            Self::Float(f) => Number::from_f64(f),
        };
        number.map(Value::Number).ok_or(EvalError::Overflow)
    }
}

pub(super) fn arithmetic(op: Arithmetic, a: Num, b: Num) -> Result<Value, EvalError> {
    let is_zero = b.as_f64() == 0.0;
    let result = match (op, a, b) {
        (Arithmetic::Divide | Arithmetic::FloorDivide | Arithmetic::Remainder, ..) if is_zero => {
            return Err(EvalError::DivisionByZero);
        }
        (Arithmetic::Add, Num::Int(a), Num::Int(b)) => Num::Int(a.saturating_add(b)),
        (Arithmetic::Subtract, Num::Int(a), Num::Int(b)) => Num::Int(a.saturating_sub(b)),
        (Arithmetic::Multiply, Num::Int(a), Num::Int(b)) => Num::Int(a.saturating_mul(b)),
        (Arithmetic::FloorDivide, Num::Int(a), Num::Int(b)) => {
            Num::Int((a - a.rem_euclid(b)) / b - i128::from(b < 0 && a.rem_euclid(b) != 0))
        }
        (Arithmetic::Remainder, Num::Int(a), Num::Int(b)) => {
            // The sign of the divisor, as in Jinja.
            let r = a % b;
            Num::Int(if r != 0 && (r < 0) != (b < 0) {
                r + b
            } else {
                r
            })
        }
        (Arithmetic::Add, a, b) => Num::Float(a.as_f64() + b.as_f64()),
        (Arithmetic::Subtract, a, b) => Num::Float(a.as_f64() - b.as_f64()),
        (Arithmetic::Multiply, a, b) => Num::Float(a.as_f64() * b.as_f64()),
        (Arithmetic::Divide, a, b) => Num::Float(a.as_f64() / b.as_f64()),
        (Arithmetic::FloorDivide, a, b) => Num::Float((a.as_f64() / b.as_f64()).floor()),
        (Arithmetic::Remainder, a, b) => {
            let (a, b) = (a.as_f64(), b.as_f64());
            Num::Float(a - b * (a / b).floor())
        }
        (Arithmetic::Concat, ..) => return Err(EvalError::Overflow),
    };
    // Integers beyond 64 bits are refused here, which also catches what saturated above.
    result.into_value()
}
