//! How documents come in and answers go out: one request, a socket, or a stream of server-sent events.

mod http;
mod sse;
mod ws;

use std::time::Duration;

use async_graphql::{Request, Response};
use axum::Router;
use axum::routing::post;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, future, stream};

use super::loaders::loaders;
use super::{errors, limits};
use crate::app::App;
use crate::error::{Category, Fault};
use crate::viewer::Viewer;

/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of one answer.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How long a message may wait for a reader that does not read.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn router() -> Router<App> {
    Router::new().route("/graphql", post(http::post).get(http::get))
}

/// The request with everything that resolvers look for; refused if its document is too much to look at.
fn prepared(app: &App, viewer: &Viewer, mut request: Request) -> Result<Request, Box<Response>> {
    match request.parsed_query() {
        Ok(document) => limits::check(document).map_err(|fault| Box::new(refused(fault)))?,
        Err(error) => return Err(Box::new(Response::from_errors(vec![error]))),
    }
    let loaders = loaders(app.core().pool.clone(), viewer.org());
    Ok(request.data(viewer.clone()).data(loaders))
}

/// The answers to a document, one or many.
fn answers(app: &App, viewer: &Viewer, request: Request) -> BoxStream<'static, Response> {
    match prepared(app, viewer, request) {
        Ok(request) => app.core().schema.execute_stream(request),
        Err(refused) => stream::once(future::ready(*refused)).boxed(),
    }
}

/// One answer, in time.
async fn answer(app: &App, viewer: &Viewer, request: Request) -> Response {
    let request = match prepared(app, viewer, request) {
        Ok(request) => request,
        Err(refused) => return *refused,
    };
    let executing = app.core().schema.execute(request);
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

/// The JSON of an answer; every error in it has a code. One that is too large is not sent.
fn json(mut response: Response) -> Vec<u8> {
    response.errors.iter_mut().for_each(errors::explain);
    if domain::json::size_bytes(&response) > ANSWER_BYTES_MAX {
        response = refused(Fault::new(
            Category::Limit,
            "ANSWER_TOO_LARGE",
            format!("an answer has at most {ANSWER_BYTES_MAX} bytes"),
            "ask for fewer rows, or for fewer of their large fields",
        ));
        response.errors.iter_mut().for_each(errors::explain);
    }
    serde_json::to_vec(&response).unwrap_or_default()
}
