//! The handlers that ship with Strata: what each takes and returns.
//!
//! These are declarations only; the code that does the work lives in `workers`. Conventions:
//!
//! - Names are dotted (`raster.create_cog`); the same name with an underscore is always an alias.
//! - An empty string, list or object given to a parameter that is not required means "not given", so
//!   that a workflow can pass an optional input on.
//! - Handlers that write files or tables are not declared idempotent even where a second run
//!   repairs the first: they run long, and a separate `started` report keeps two deliveries of one
//!   attempt from running side by side.
//! - What templates read must be small and stand inline in the output. Long lists are optional
//!   fields, beside a count and a reference to the whole.

mod artifact;
mod examples;
mod h3;
mod raster;
mod stac;
mod tiles;
mod vector;

use serde_json::Value;

use super::{Handler, Output};
use crate::definition::model::{Input, ValueType};

/// Queue of light work: validation, registration, small transforms.
const LIGHT: &str = "functionapp-tasks";
/// Queue of heavy work: whatever opens rasters or moves much data.
const HEAVY: &str = "container-tasks";

/// All shipped declarations.
pub(super) fn all() -> Vec<Handler> {
    [
        artifact::all(),
        examples::all(),
        h3::all(),
        raster::all(),
        stac::all(),
        tiles::all(),
        vector::all(),
    ]
    .concat()
}

/// A parameter or an output field, whichever the place asks for.
trait Described {
    fn described(kind: ValueType, description: &str) -> Self;
}

impl Described for Input {
    fn described(kind: ValueType, description: &str) -> Self {
        Self {
            kind,
            description: Some(description.to_owned()),
            ..Self::default()
        }
    }
}

impl Described for Output {
    fn described(kind: ValueType, description: &str) -> Self {
        Self::new(kind, description)
    }
}

fn text<T: Described>(description: &str) -> T {
    T::described(ValueType::String, description)
}

fn integer<T: Described>(description: &str) -> T {
    T::described(ValueType::Integer, description)
}

fn number<T: Described>(description: &str) -> T {
    T::described(ValueType::Number, description)
}

fn flag<T: Described>(description: &str) -> T {
    T::described(ValueType::Boolean, description)
}

fn list<T: Described>(description: &str) -> T {
    T::described(ValueType::Array, description)
}

fn map<T: Described>(description: &str) -> T {
    T::described(ValueType::Object, description)
}

/// A parameter that must be given.
fn required(input: Input) -> Input {
    Input {
        required: true,
        ..input
    }
}

/// A parameter with a value when none is given.
fn or(input: Input, default: impl Into<Value>) -> Input {
    Input {
        default: Some(default.into()),
        ..input
    }
}

/// A string that is empty when it is not given.
fn optional(description: &str) -> Input {
    or(text(description), "")
}

/// A parameter that must be one of these.
fn among(input: Input, choices: &[&str]) -> Input {
    Input {
        choices: Some(choices.iter().map(|c| Value::from(*c)).collect()),
        ..input
    }
}

/// A number in this range, or a string or list of such a length.
fn between(input: Input, min: impl Into<f64>, max: impl Into<f64>) -> Input {
    Input {
        min: Some(min.into()),
        max: Some(max.into()),
        ..input
    }
}

/// A field that may be null or absent.
fn maybe(output: Output) -> Output {
    output.optional()
}
