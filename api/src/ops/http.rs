//! What is measured and traced of every HTTP request.
//!
//! Route templates, methods and status classes only: a path, a query string or a header may hold what is
//! nobody's business.

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, Method};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use bus::metric;
use domain::trace::TraceParent;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};
use uuid::Uuid;

/// Measures and traces everything that `router` answers.
///
/// Handlers find the [`TraceParent`] that their work belongs to among the extensions of the request.
pub fn layer(router: Router) -> Router {
    router.layer(from_fn(observe))
}

async fn observe(mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(|| "unmatched".to_owned(), |path| path.as_str().to_owned());
    let method = method_word(request.method());
    let came = trace_of(request.headers());
    let span = tracing::info_span!(
        "request",
        http.route = route,
        http.method = method,
        http.status = tracing::field::Empty,
        latency_ms = tracing::field::Empty,
        trace_id = tracing::field::Empty,
    );
    let trace = follow(&span, came);
    if let Some(trace) = trace {
        span.record("trace_id", trace.trace_hex());
        request.extensions_mut().insert(trace);
    }
    let response = next.run(request).instrument(span.clone()).await;
    let took = begun.elapsed();
    let status = response.status();
    span.record("http.status", status.as_u16());
    span.record(
        "latency_ms",
        u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    );
    span.in_scope(|| tracing::debug!("answered"));
    let labels = [("route", route.clone()), ("method", method.to_owned())];
    metrics::histogram!(metric::HTTP_DURATION, &labels).record(took);
    let class = status_class(status.as_u16());
    metrics::counter!(metric::HTTP_REQUESTS, "route" => route, "method" => method, "status" => class)
        .increment(1);
    response
}

/// The trace that a request came with, if its header is one.
fn trace_of(headers: &HeaderMap) -> Option<TraceParent> {
    let text = headers.get(TraceParent::HEADER)?.to_str().ok()?;
    text.parse().ok()
}

/// Puts the span into its trace, and says what goes on with the work: the span itself if it is exported,
/// else what came with the request, else a trace that begins here.
fn follow(span: &Span, came: Option<TraceParent>) -> Option<TraceParent> {
    if let Some(came) = came {
        bus::trace::continue_in(span, came);
    }
    bus::trace::of(span).or(came).or_else(fresh)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the border draws the ids of traces that begin here"
)]
fn fresh() -> Option<TraceParent> {
    let (span_id, _) = Uuid::new_v4().as_u64_pair();
    TraceParent::new(Uuid::new_v4().as_u128(), span_id).ok()
}

/// The usual methods; whatever else somebody makes up is one word.
fn method_word(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

fn status_class(status: u16) -> &'static str {
    match status / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {
    use axum::Extension;
    use axum::body::{Body, to_bytes};
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    async fn echo(Extension(trace): Extension<TraceParent>) -> String {
        trace.to_string()
    }

    async fn ask(path: &str, trace: Option<&str>) -> (u16, String) {
        let router = layer(Router::new().route("/things/{id}", get(echo)));
        let mut request = Request::builder().uri(path);
        if let Some(trace) = trace {
            request = request.header("traceparent", trace);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1_000).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_valid_trace_reaches_the_handler_and_another_one_begins_anew() {
        assert_eq!(ask("/things/7", Some(TRACE)).await, (200, TRACE.to_owned()));
        for none in [None, Some("00-zz"), Some(&*TRACE.to_uppercase())] {
            let (status, body) = ask("/things/7", none).await;
            assert_eq!(status, 200);
            assert!(body.parse::<TraceParent>().is_ok(), "{body}");
            assert_ne!(body, TRACE);
        }
    }

    #[tokio::test]
    async fn requests_are_counted_by_template_and_never_by_path() {
        let metrics = super::super::install().unwrap();
        ask("/things/secret-7?key=secret-8", None).await;
        ask("/nowhere/secret-9", None).await;
        let text = metrics.render();
        let counted =
            r#"strata_http_requests_total{route="/things/{id}",method="GET",status="2xx"} 1"#;
        assert!(text.contains(counted), "{text}");
        let lost = r#"{route="unmatched",method="GET",status="4xx"} 1"#;
        assert!(text.contains(lost), "{text}");
        assert!(text.contains("strata_http_request_duration_seconds_bucket"));
        assert!(!text.contains("secret"), "{text}");
    }
}
