//! How documents come in and answers go out: one request, a socket, or a stream of server-sent events.

mod http;
mod sse;
mod ws;

use std::time::Duration;

use async_graphql::{Request, Response};
use axum::Router;
use axum::routing::post;

use super::errors;
use super::loaders::loaders;
use crate::app::App;
use crate::error::{Category, Fault};
use crate::viewer::Viewer;

/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a message may wait for a reader that does not read.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn router() -> Router<App> {
    Router::new().route("/graphql", post(http::post).get(http::get))
}

/// The request with everything that resolvers look for.
fn prepared(app: &App, viewer: &Viewer, request: Request) -> Request {
    let loaders = loaders(app.core().pool.clone(), viewer.org());
    request.data(viewer.clone()).data(loaders)
}

/// One answer, in time.
async fn answer(app: &App, viewer: &Viewer, request: Request) -> Response {
    let executing = app.core().schema.execute(prepared(app, viewer, request));
    match tokio::time::timeout(ANSWER_TIMEOUT, executing).await {
        Ok(response) => response,
        Err(_) => refused(Fault::new(
            Category::Unavailable,
            "TIMEOUT",
            "the answer took too long",
            "ask for less at once",
        )),
    }
}

/// An answer that is only a fault.
fn refused(fault: Fault) -> Response {
    let error = async_graphql::Error::from(fault);
    Response::from_errors(vec![error.into_server_error(async_graphql::Pos::default())])
}

/// The JSON of an answer; every error in it has a code.
fn json(mut response: Response) -> Vec<u8> {
    response.errors.iter_mut().for_each(errors::explain);
    serde_json::to_vec(&response).unwrap_or_default()
}
