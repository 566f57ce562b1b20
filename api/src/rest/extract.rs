//! What is read from a request, with errors in our own form: body, path and query.

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::app::App;
use crate::error::{Category, Fault};

/// A JSON object. That it has the right fields is for whoever reads them: all that is wrong is told at once.
pub(crate) struct Body(pub(crate) Map<String, Value>);

/// The last part of a path.
pub(crate) struct PathText(pub(crate) String);

/// The arguments of a query; unknown ones are errors.
pub(crate) struct Args<T>(pub(crate) T);

/// Why a body is not taken; one of them has no category of its own.
pub(crate) enum BodyRefusal {
    Fault(Fault),
    MediaType,
}

impl IntoResponse for BodyRefusal {
    fn into_response(self) -> Response {
        match self {
            Self::Fault(fault) => fault.into_response(),
            Self::MediaType => {
                let fault = Fault::new(
                    Category::Malformed,
                    "NOT_JSON",
                    "the body must be JSON",
                    "send `Content-Type: application/json`",
                );
                let mut response = fault.into_response();
                *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
                response
            }
        }
    }
}

impl FromRequest<App> for Body {
    type Rejection = BodyRefusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, BodyRefusal> {
        if !is_json(request.headers()) {
            return Err(BodyRefusal::MediaType);
        }
        let most = app.core().options.body_bytes_max;
        let bytes = crate::body::read(request.into_body(), most).await;
        let bytes = bytes.map_err(BodyRefusal::Fault)?;
        parse(&bytes).map(Self).map_err(BodyRefusal::Fault)
    }
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, Fault> {
    let malformed = |message: String| {
        Fault::new(
            Category::Malformed,
            "MALFORMED_JSON",
            message,
            "send one JSON object in UTF-8",
        )
    };
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(malformed("the body is JSON, but no object".to_owned())),
        // Line and column, and what was expected; never a part of the body.
        Err(error) => Err(malformed(format!("the body is not JSON: {error}"))),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(text) = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()) else {
        return false;
    };
    let media = text.split(';').next().unwrap_or_default().trim();
    let media = media.to_ascii_lowercase();
    media == "application/json" || media.starts_with("application/") && media.ends_with("+json")
}

impl FromRequestParts<App> for PathText {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let path = Path::<String>::from_request_parts(parts, app).await;
        let Path(text) = path.map_err(|_| bad_path())?;
        if text.contains(char::is_control) {
            return Err(bad_path());
        }
        Ok(Self(text))
    }
}

fn bad_path() -> Fault {
    Fault::new(
        Category::Malformed,
        "MALFORMED_PATH",
        "the last part of the path cannot be read",
        "write it in UTF-8 without control characters",
    )
}

impl<T: DeserializeOwned> FromRequestParts<App> for Args<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let query = Query::<T>::from_request_parts(parts, app).await;
        let Query(args) = query.map_err(|error| {
            let message: String = error.body_text().chars().take(300).collect();
            bad_query(message)
        })?;
        Ok(Self(args))
    }
}

/// An argument of the query that cannot be used.
pub(crate) fn bad_query(message: impl Into<String>) -> Fault {
    Fault::new(
        Category::Malformed,
        "MALFORMED_QUERY",
        message,
        "see /api/docs for the arguments of this call",
    )
}

/// An id of the path that is none.
pub(crate) fn bad_id(text: &str, expected: &str) -> Fault {
    let text: String = text.chars().take(80).collect();
    Fault::new(
        Category::Malformed,
        "MALFORMED_ID",
        format!("`{text}` is not {expected}"),
        "use an id as it was given to you",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_by_its_media_type() {
        let with = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, axum::http::HeaderValue::from_static(text));
            headers
        };
        for good in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/ld+json",
        ] {
            assert!(is_json(&with(good)), "{good}");
        }
        for bad in ["text/plain", "application/xml", "json", ""] {
            assert!(!is_json(&with(bad)), "{bad}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        assert!(parse(br#"{"a": 1}"#).is_ok());
        let fault = parse(b"{\n \"a\": }").unwrap_err();
        assert!(fault.message.contains("line 2 column"), "{}", fault.message);
        for bad in [&b"[]"[..], b"1", b"null", b"", b"\xff"] {
            assert_eq!(parse(bad).unwrap_err().category, Category::Malformed);
        }
        let deep = "[".repeat(200);
        assert!(parse(format!("{{\"a\": {deep}").as_bytes()).is_err());
    }
}
