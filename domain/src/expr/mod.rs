//! The one expression language of Strata, used in `{{ }}` templates and in `when:` conditions.
//!
//! The syntax is that of Jinja expressions and is parsed by minijinja; the evaluation is ours
//! (ADR 0003), because it must be total and cheap: it works on JSON values, keeps their types, never
//! coerces silently, counts steps and bytes, and has no loops, no string multiplication and no
//! access to anything but its [`Scope`].

mod condition;
mod eval;
mod filter;
mod number;
mod parse;
mod template;
#[cfg(test)]
mod tests;

pub use condition::{Condition, InvalidCondition};
pub use eval::{Budget, EvalError, Scope, evaluate, truthy};
pub(crate) use eval::{kind, path_text};
pub use parse::{Arithmetic, Expr, ParseError, Reference, Segment, parse};
pub use template::Template;
