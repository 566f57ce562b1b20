//! One table from what can go wrong to what a caller is told: code, category, message, remediation.
//!
//! Whatever is not the caller's fault is logged here in full and told without detail.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// What kind of failure it is; decides the HTTP status, and whether trying again makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// The request cannot be read at all.
    Malformed,
    /// It can be read, and what it says is not possible.
    Validation,
    Authentication,
    Permission,
    NotFound,
    Conflict,
    /// Too much of something.
    Limit,
    /// Larger than what is taken.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// Not now; the same request may work later.
    Unavailable,
    Internal,
}

/// One of several things that are wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    /// Where in the request it is, such as `inputs.blob_name`.
    pub field: String,
    pub code: String,
    pub message: String,
}

/// Why a request was not granted, as callers see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Fault {
    /// Stable; for programs.
    pub code: String,
    pub category: Category,
    /// For people.
    pub message: String,
    /// What to do about it.
    pub remediation: String,
    /// Whether the caller can mend it.
    pub user_fixable: bool,
    /// Everything that is wrong, if it is more than one thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// The body of every answer that is an error.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ErrorBody {
    pub error: Fault,
}

impl Category {
    /// The status of an HTTP answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Validation => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Authentication => StatusCode::UNAUTHORIZED,
            Self::Permission => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Conflict => StatusCode::CONFLICT,
            Self::Limit => StatusCode::TOO_MANY_REQUESTS,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Validation => "validation",
            Self::Authentication => "authentication",
            Self::Permission => "permission",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Limit => "limit",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }
}

impl Fault {
    /// A fault with all its parts but the list of problems.
    pub fn new(
        category: Category,
        code: &str,
        message: impl Into<String>,
        remediation: impl Into<String>,
    ) -> Self {
        let user_fixable = !matches!(category, Category::Unavailable | Category::Internal);
        Self {
            code: code.to_owned(),
            category,
            message: message.into(),
            remediation: remediation.into(),
            user_fixable,
            problems: Vec::new(),
        }
    }

    /// Something that does not exist, or belongs to another organisation: there is no difference.
    pub fn not_found(what: &str, id: &str) -> Self {
        let id: String = id.chars().take(80).collect();
        let message = format!("there is no {what} `{id}`");
        Self::new(
            Category::NotFound,
            "NOT_FOUND",
            message,
            "check the id; it must belong to your organisation",
        )
    }

    /// What was given is not possible.
    pub fn invalid(code: &str, message: impl Into<String>, remediation: impl Into<String>) -> Self {
        Self::new(Category::Validation, code, message, remediation)
    }

    /// What was asked for does not fit to how things are.
    pub fn conflict(
        code: &str,
        message: impl Into<String>,
        remediation: impl Into<String>,
    ) -> Self {
        Self::new(Category::Conflict, code, message, remediation)
    }

    /// The role of the key is not enough.
    pub fn forbidden(needed: &str) -> Self {
        Self::new(
            Category::Permission,
            "FORBIDDEN",
            format!("this needs the role {needed}"),
            "use a key with that role",
        )
    }

    /// Nobody knows who asks.
    pub fn unauthenticated() -> Self {
        Self::new(
            Category::Authentication,
            "UNAUTHENTICATED",
            "a valid key is needed",
            "send `Authorization: Bearer <key>`; `strata key create` makes one",
        )
    }

    /// Our own fault: the log gets the reason, the caller does not.
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed for a reason of our own");
        Self::new(
            Category::Internal,
            "INTERNAL",
            "something went wrong on our side",
            "try again; if it stays, tell the operator the time of the request",
        )
    }

    /// A part of the platform does not answer.
    pub fn unavailable(error: &dyn std::fmt::Display) -> Self {
        tracing::warn!(%error, "a request failed because a service is away");
        Self::new(
            Category::Unavailable,
            "UNAVAILABLE",
            "a part of the platform does not answer",
            "try again in a few seconds",
        )
    }

    /// The same with the list of everything that is wrong.
    #[must_use]
    pub fn with(mut self, problems: Vec<Problem>) -> Self {
        self.problems = problems;
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = self.category.status();
        (status, Json(ErrorBody { error: self })).into_response()
    }
}
