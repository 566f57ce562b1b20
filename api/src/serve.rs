//! All routes together, and the task that answers them.

use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::app::App;
use crate::error::{Category, Fault};
use crate::ops::{self, Ops};
use crate::{graphql, pages, rest};

/// How often the use of keys is noted.
const NOTE_EVERY: Duration = Duration::from_secs(10);

/// Everything that can be asked over HTTP.
pub fn router(app: App, ops: Ops) -> Router {
    let options = &app.core().options;
    let cors = cors(&options.cors_origins);
    let body_max = options.body_bytes_max;
    let routes = Router::new()
        .merge(graphql::transport::router())
        .merge(pages::router())
        .merge(rest::routes())
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .with_state(app)
        .merge(ops::router(ops));
    let routes = routes
        .layer(DefaultBodyLimit::max(body_max))
        .layer(axum::middleware::map_response(harden));
    let routes = match cors {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    ops::http::layer(routes)
}

/// Answers until it is told to stop, and keeps the live feed.
pub async fn serve(listener: TcpListener, app: App, ops: Ops, shutdown: CancellationToken) {
    let (live, bus) = (app.core().live.clone(), app.core().writer.bus.clone());
    let feeding = shutdown.clone();
    let background = async {
        tokio::join!(live.run(bus, feeding.clone()), look_after(&app, &feeding));
    };
    let door = app.core().options.door.clone();
    let serving = door.serve(listener, router(app.clone(), ops), shutdown);
    tokio::join!(serving, background);
}

async fn look_after(app: &App, shutdown: &CancellationToken) {
    loop {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(NOTE_EVERY) => {}
        }
        if let Err(error) = app.core().access.note_use().await {
            tracing::debug!(%error, "the use of keys was not noted");
        }
        app.core().limiter.tidy();
        if shutdown.is_cancelled() {
            return;
        }
    }
}

/// Closed unless origins are named.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let origins = origins.iter().filter_map(|origin| origin.parse().ok());
    let origins: Vec<HeaderValue> = origins.collect();
    let headers = [
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::ACCEPT,
        HeaderName::from_static("x-api-key"),
        HeaderName::from_static("idempotency-key"),
        HeaderName::from_static("traceparent"),
    ];
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(headers);
    Some(cors)
}

/// What browsers should never do with our answers.
async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
    ] {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn no_route() -> Fault {
    Fault::new(
        Category::NotFound,
        "NO_ROUTE",
        "there is nothing at this address",
        "see /api/docs for REST, /graphiql for GraphQL",
    )
}

async fn no_method() -> (axum::http::StatusCode, axum::Json<crate::error::ErrorBody>) {
    let error = Fault::new(
        Category::Malformed,
        "NO_METHOD",
        "this address does not answer to this method",
        "see the Allow header",
    );
    (
        axum::http::StatusCode::METHOD_NOT_ALLOWED,
        axum::Json(crate::error::ErrorBody { error }),
    )
}
