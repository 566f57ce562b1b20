//! From what the server refuses to what a person and the shell are told.

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{Client, KEY};
use crate::exit::{Exit, Stop};
use crate::output::one_line;

/// Why the server did not do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Stable; for programs.
    pub(crate) code: String,
    category: String,
    pub(crate) message: String,
    remediation: String,
}

/// One of the errors of an answer.
#[derive(Debug, Deserialize)]
pub(super) struct GraphqlError {
    message: String,
    #[serde(default)]
    extensions: Extensions,
}

#[derive(Debug, Default, Deserialize)]
struct Extensions {
    #[serde(default)]
    code: String,
    #[serde(default)]
    category: String,
    #[serde(default)]
    remediation: String,
}

impl From<GraphqlError> for Fault {
    fn from(error: GraphqlError) -> Self {
        let Extensions {
            code,
            category,
            remediation,
        } = error.extensions;
        Self {
            code,
            category,
            message: error.message,
            remediation,
        }
    }
}

impl Fault {
    /// Of an answer that is not one of GraphQL.
    pub(super) fn of_http(status: StatusCode, body: &[u8]) -> Self {
        let said: Value = serde_json::from_slice(body).unwrap_or_default();
        let word = |name: &str| said["error"][name].as_str().unwrap_or_default().to_owned();
        let message = match word("message") {
            none if none.is_empty() => format!("the server answers {status}"),
            message => message,
        };
        let category = match word("category") {
            none if none.is_empty() => category_of(status).to_owned(),
            category => category,
        };
        Self {
            code: word("code"),
            category,
            message,
            remediation: word("remediation"),
        }
    }

    /// What the server said about one of many wishes.
    pub(crate) fn of_json(said: &Value) -> Self {
        let word = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        Self {
            code: word("code"),
            category: word("category"),
            message: word("message"),
            remediation: word("remediation"),
        }
    }

    /// What the shell is told.
    pub(crate) fn exit(&self) -> Exit {
        match (self.category.as_str(), self.code.as_str()) {
            // Named by the caller, and not there.
            (_, "UNKNOWN_WORKFLOW") | ("not_found", _) => Exit::NotFound,
            ("validation" | "malformed" | "permission" | "too_large", _) => Exit::Usage,
            ("conflict", _) => Exit::Conflict,
            ("internal", _) => Exit::Failed,
            // Authentication and limits too: with this key, now, there is no way in.
            _ => Exit::Unreachable,
        }
    }

    /// Whether the same may work later.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self.category.as_str(), "unavailable" | "limit" | "internal")
    }

    /// The error that ends a command.
    pub(super) fn stop(self, client: &Client) -> anyhow::Error {
        let next = match (self.category.as_str(), self.code.as_str()) {
            (_, "UNKNOWN_WORKFLOW") => "strata workflow list --registered".to_owned(),
            ("authentication", _) => {
                format!("set {KEY} to a valid key; an admin makes one: strata key create")
            }
            _ => one_line(&self.remediation),
        };
        let message = match self.category.as_str() {
            "authentication" => format!("{} does not accept this key", client.shown()),
            _ => one_line(&self.message),
        };
        let exit = self.exit();
        let stop = Stop {
            exit,
            message,
            next,
            code: self.code,
        };
        stop.into()
    }
}

/// Whether the server refused with this code.
pub(crate) fn is_code(error: &anyhow::Error, code: &str) -> bool {
    let stop = error.downcast_ref::<Stop>();
    stop.is_some_and(|stop| stop.code == code)
}

fn category_of(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication",
        403 => "permission",
        404 => "not_found",
        409 => "conflict",
        429 => "limit",
        400..=499 => "malformed",
        _ => "unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_category_decides_the_exit_code() {
        for (category, code, exit) in [
            ("validation", "INVALID_INPUTS", Exit::Usage),
            ("validation", "UNKNOWN_WORKFLOW", Exit::NotFound),
            ("malformed", "MALFORMED", Exit::Usage),
            ("permission", "FORBIDDEN", Exit::Usage),
            ("not_found", "NOT_FOUND", Exit::NotFound),
            ("conflict", "JOB_ENDED", Exit::Conflict),
            ("authentication", "UNAUTHENTICATED", Exit::Unreachable),
            ("limit", "RATE_LIMITED", Exit::Unreachable),
            ("unavailable", "BEHIND", Exit::Unreachable),
            ("internal", "INTERNAL", Exit::Failed),
        ] {
            let fault = Fault::of_json(&serde_json::json!({"category": category, "code": code}));
            assert_eq!(fault.exit(), exit, "{category}");
        }
    }

    #[test]
    fn an_answer_that_is_not_ours_is_judged_by_its_status() {
        let fault = Fault::of_http(StatusCode::BAD_GATEWAY, b"<html>");
        assert_eq!(fault.exit(), Exit::Unreachable);
        assert!(fault.message.contains("502"), "{}", fault.message);
        let said = br#"{"error": {"code": "X", "category": "conflict", "message": "m"}}"#;
        assert_eq!(
            Fault::of_http(StatusCode::CONFLICT, said).exit(),
            Exit::Conflict
        );
    }
}
