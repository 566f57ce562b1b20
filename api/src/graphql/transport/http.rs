//! `POST /graphql` with a document; `GET /graphql` for sockets and for streams of events.

use async_graphql::Request;
use axum::body::Body;
use axum::extract::{FromRequestParts as _, Query, State, WebSocketUpgrade};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Request as HttpRequest};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use super::{answer, json, sse, ws};
use crate::app::App;
use crate::door::Peer;
use crate::error::{Category, Fault};
use crate::graphql::limits;
use crate::viewer::Viewer;

/// Longest document in an address.
const QUERY_BYTES_MAX: usize = 16 * 1024;

/// The document of a stream in its address.
#[derive(Deserialize)]
struct InAddress {
    query: Option<String>,
    variables: Option<String>,
    #[serde(rename = "operationName")]
    operation_name: Option<String>,
}

pub(super) async fn post(
    State(app): State<App>,
    request: HttpRequest<Body>,
) -> Result<Response, Fault> {
    let (mut parts, body) = request.into_parts();
    let viewer = Viewer::from_request_parts(&mut parts, &app).await?;
    require_json(&parts.headers)?;
    let bytes = crate::body::read(body, app.core().options.body_bytes_max).await?;
    let document = document(&bytes)?;
    if wants_stream(&parts.headers) {
        return sse::stream(&app, &viewer, document, asked(parts));
    }
    let answered = answer(&app, &viewer, document).await;
    Ok(as_json(json(answered)))
}

/// One document; a list of them would get around the limits of each.
fn document(bytes: &[u8]) -> Result<Request, Fault> {
    let malformed = |reason: String| {
        Fault::new(
            Category::Malformed,
            "MALFORMED",
            format!("the body is not a GraphQL request: {reason}"),
            "send one JSON object with `query`, and `variables` if there are any",
        )
    };
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(malformed("it is not a JSON object".to_owned()));
    }
    serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))
}

pub(super) async fn get(
    State(app): State<App>,
    request: HttpRequest<Body>,
) -> Result<Response, Fault> {
    let (mut parts, _) = request.into_parts();
    if parts.headers.contains_key("upgrade") {
        return socket(app, &mut parts).await;
    }
    let viewer = Viewer::from_request_parts(&mut parts, &app).await?;
    if !wants_stream(&parts.headers) {
        return Err(Fault::new(
            Category::Malformed,
            "USE_POST",
            "a document is sent by POST",
            "POST to /graphql, or open /graphiql in a browser",
        ));
    }
    let mut document = in_address(&parts)?;
    // Any page can make a browser fetch an address: nothing may change by it.
    let watches = document.parsed_query().is_ok_and(limits::only_watches);
    if !watches {
        return Err(Fault::new(
            Category::Malformed,
            "USE_POST",
            "only subscriptions are taken from an address",
            "send queries and changes by POST",
        ));
    }
    sse::stream(&app, &viewer, document, asked(parts))
}

fn asked(parts: Parts) -> sse::Asked {
    sse::Asked {
        method: parts.method,
        headers: parts.headers,
    }
}

async fn socket(app: App, parts: &mut Parts) -> Result<Response, Fault> {
    let upgrade = WebSocketUpgrade::from_request_parts(parts, &app).await;
    let upgrade = upgrade.map_err(|refusal| {
        Fault::new(
            Category::Malformed,
            "BAD_UPGRADE",
            refusal.body_text(),
            "open a WebSocket of version 13",
        )
    })?;
    // Who has said nothing yet may do so in its first message; a bad key is refused at once.
    let viewer = match Viewer::from_request_parts(parts, &app).await {
        Ok(viewer) => Some(viewer),
        Err(_) if !has_credentials(&parts.headers) => None,
        Err(fault) => return Err(fault),
    };
    let peer = parts.extensions.get::<Peer>().copied();
    ws::open(app, upgrade, viewer, parts.headers.clone(), peer)
}

fn has_credentials(headers: &HeaderMap) -> bool {
    ["authorization", "x-api-key"]
        .iter()
        .any(|name| headers.contains_key(*name))
        || crate::auth::session_of(headers).is_some()
}

fn in_address(parts: &Parts) -> Result<Request, Fault> {
    let malformed = |message: String| {
        Fault::new(
            Category::Malformed,
            "MALFORMED",
            message,
            "send `query` and `variables`",
        )
    };
    let Query(given) = Query::<InAddress>::try_from_uri(&parts.uri)
        .map_err(|error| malformed(error.body_text()))?;
    let query = given
        .query
        .ok_or_else(|| malformed("there is no `query`".to_owned()))?;
    if query.len() > QUERY_BYTES_MAX {
        return Err(too_large(QUERY_BYTES_MAX));
    }
    let mut request = Request::new(query);
    if let Some(variables) = given.variables {
        let variables = serde_json::from_str(&variables);
        let variables = variables.map_err(|error| malformed(format!("`variables`: {error}")))?;
        request = request.variables(async_graphql::Variables::from_json(variables));
    }
    if let Some(name) = given.operation_name {
        request = request.operation_name(name);
    }
    Ok(request)
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

/// Pages of other origins can send plain text without asking; they cannot send JSON.
fn require_json(headers: &HeaderMap) -> Result<(), Fault> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    Err(Fault::new(
        Category::Malformed,
        "NOT_JSON",
        "the content type is not application/json",
        "send `Content-Type: application/json`",
    ))
}

fn too_large(max: usize) -> Fault {
    Fault::new(
        Category::TooLarge,
        "TOO_LARGE",
        format!("a request has at most {max} bytes"),
        "send less at once",
    )
}

fn as_json(bytes: Vec<u8>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, kind)], bytes).into_response()
}
