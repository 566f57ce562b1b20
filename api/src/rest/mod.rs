//! REST for platforms and partners: submit, status, review, catalog, and the facade of job types.
//!
//! Handlers read a request, ask `commands` or `projections::read` with the organisation of the viewer, and
//! answer; partners' own payloads are turned into ours in [`adapters`]. The document of it all is made from the
//! handlers by [`document`], and kept as a snapshot in `docs/api/openapi.json`.

mod adapters;
pub(crate) mod callbacks;
mod catalog;
mod document;
mod extract;
mod fields;
mod find;
mod jobs;
mod overview;
mod page;
mod resubmit;
mod review;
mod status;
mod submit;
mod view;

use std::sync::LazyLock;

use axum::Router;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use document::openapi;

use crate::app::App;

/// The document as it is sent, and the page of it.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| openapi().to_string());
static PAGE: LazyLock<String> = LazyLock::new(|| page::html(&openapi()));

/// The documented routes.
pub(crate) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document::base())
        .routes(routes!(submit::submit))
        .routes(routes!(submit::submit_for))
        .routes(routes!(status::status))
        .routes(routes!(resubmit::resubmit))
        .routes(routes!(review::approve))
        .routes(routes!(review::reject))
        .routes(routes!(review::revoke))
        .routes(routes!(review::unpublish))
        .routes(routes!(catalog::lookup, catalog::lookup_exactly))
        .routes(routes!(catalog::asset))
        .routes(routes!(overview::platforms))
        .routes(routes!(overview::failures))
        .routes(routes!(overview::platform_health))
        .routes(routes!(overview::health))
        .routes(routes!(jobs::submit_job))
        .routes(routes!(jobs::job_status))
        .routes(routes!(jobs::job_result))
}

/// All routes of REST, to be merged with the others: those above, their older names (C-03), the document with
/// its page.
pub(crate) fn routes() -> Router<App> {
    let (routes, _) = router().split_for_parts();
    routes
        .route("/platform/submit", post(submit::submit))
        .route("/platform/submit_dag", post(submit::submit))
        .route("/platform/status/{id}", get(status::status))
        .route("/platform/dag_status/{id}", get(status::status))
        .route("/api/openapi.json", get(document_json))
        .route("/api/docs", get(document_page))
}

async fn document_json() -> Response {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}

async fn document_page() -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        ),
    ];
    (headers, PAGE.as_str()).into_response()
}
