//! Checks the refs of a submission against the id scheme of its platform.

use serde_json::Value;

use super::State;
use crate::suggest::suggest;

/// The B2B identifiers of an asset, by name; opaque to us (O-01, O-07).
pub type Refs = serde_json::Map<String, Value>;

/// Longest value of a ref.
pub const REF_BYTES_MAX: usize = 512;

/// One thing that is wrong with the refs of a submission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefProblem {
    /// Nobody registered the platform.
    #[error("the platform is not registered")]
    NotRegistered,
    /// A required ref is absent.
    #[error("the required ref `{name}` is missing")]
    Missing { name: String },
    /// The platform declares no such ref.
    #[error("the platform has no ref `{name}`{}", hint(.did_you_mean))]
    Unknown {
        name: String,
        did_you_mean: Option<String>,
    },
    /// The value is neither text nor a whole number.
    #[error("the ref `{name}` must be a string or an integer, not {found}")]
    WrongType { name: String, found: &'static str },
    /// The value is too long.
    #[error("the ref `{name}` has {size_bytes} bytes; at most {REF_BYTES_MAX} are allowed")]
    TooLong { name: String, size_bytes: usize },
    /// The value holds U+0000, which cannot be stored; it is refused because refs are never altered.
    #[error("the ref `{name}` contains the character U+0000")]
    ZeroCharacter { name: String },
}

/// Reports ALL problems of `refs` at once, in the order of their names, missing ones first.
pub fn check_refs(state: &State, refs: &Refs) -> Result<(), Vec<RefProblem>> {
    let Some(platform) = state.platform() else {
        return Err(vec![RefProblem::NotRegistered]);
    };
    let missing = platform
        .required_refs
        .iter()
        .filter(|name| !refs.contains_key(*name))
        .map(|name| RefProblem::Missing { name: name.clone() });
    let declared = || platform.required_refs.iter().chain(&platform.optional_refs);
    let wrong = refs.iter().filter_map(|(name, value)| {
        if declared().any(|known| known == name) {
            return check_value(name, value);
        }
        // A ref that is there already cannot be the one that was meant.
        let absent = declared().filter(|known| !refs.contains_key(*known));
        Some(RefProblem::Unknown {
            name: name.chars().take(80).collect(),
            did_you_mean: suggest(name, absent.map(String::as_str)).map(str::to_owned),
        })
    });
    let problems: Vec<RefProblem> = missing.chain(wrong).collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

fn check_value(name: &str, value: &Value) -> Option<RefProblem> {
    let name = name.to_owned();
    let wrong_type = |name, found| Some(RefProblem::WrongType { name, found });
    match value {
        Value::String(text) if text.len() > REF_BYTES_MAX => {
            let size_bytes = text.len();
            Some(RefProblem::TooLong { name, size_bytes })
        }
        Value::String(text) if text.contains('\0') => Some(RefProblem::ZeroCharacter { name }),
        Value::String(_) => None,
        Value::Number(number) if number.is_f64() => wrong_type(name, "a fraction"),
        Value::Number(_) => None,
        Value::Null => wrong_type(name, "null"),
        Value::Bool(_) => wrong_type(name, "a boolean"),
        Value::Array(_) => wrong_type(name, "an array"),
        Value::Object(_) => wrong_type(name, "an object"),
    }
}

fn hint(did_you_mean: &Option<String>) -> String {
    match did_you_mean {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}
