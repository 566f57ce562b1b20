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
/// Handlers find the [`TraceParent`] that their work belongs to among the extensions of the request, if
/// the caller sent one or spans are exported: nobody could look up another one.
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
    match follow(&span, came) {
        Some(trace) => {
            span.record("trace_id", trace.trace_hex());
            request.extensions_mut().insert(trace);
        }
        // Only so that the lines of one request can be told from those of another.
        None => {
            span.record("trace_id", fresh());
        }
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
/// else what came with the request.
fn follow(span: &Span, came: Option<TraceParent>) -> Option<TraceParent> {
    if let Some(came) = came {
        bus::trace::continue_in(span, came);
    }
    bus::trace::of(span).or(came)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the border draws the ids of requests that came without a trace"
)]
fn fresh() -> String {
    Uuid::new_v4().simple().to_string()
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
    use std::sync::{Arc, Mutex};

    use axum::body::{Body, to_bytes};
    use axum::routing::get;
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::error::OTelSdkResult;
    use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
    use tower::ServiceExt as _;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    async fn echo(trace: Option<Extension<TraceParent>>) -> String {
        trace.map_or_else(String::new, |trace| trace.to_string())
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
    async fn a_valid_trace_reaches_the_handler_and_nothing_else_does() {
        assert_eq!(ask("/things/7", Some(TRACE)).await, (200, TRACE.to_owned()));
        for none in [None, Some("00-zz"), Some(&*TRACE.to_uppercase())] {
            assert_eq!(ask("/things/7", none).await, (200, String::new()));
        }
    }

    /// A collector in memory.
    #[derive(Debug, Clone, Default)]
    struct Kept(Arc<Mutex<Vec<SpanData>>>);

    impl SpanExporter for Kept {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            self.0.lock().unwrap().extend(batch);
            Ok(())
        }
    }

    #[tokio::test]
    async fn the_exported_span_is_a_child_of_what_came_and_the_parent_of_what_follows() {
        let kept = Kept::default();
        let provider = SdkTracerProvider::builder()
            .with_simple_exporter(kept.clone())
            .build();
        let exporting = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let subscriber = tracing_subscriber::registry().with(exporting);
        let _on = tracing::subscriber::set_default(subscriber);

        let (_, body) = ask("/things/7", Some(TRACE)).await;
        let (came, goes): (TraceParent, TraceParent) =
            (TRACE.parse().unwrap(), body.parse().unwrap());
        assert_eq!(goes.trace_id(), came.trace_id());
        let spans = std::mem::take(&mut *kept.0.lock().unwrap());
        let [span] = &spans[..] else {
            panic!("{spans:?}");
        };
        assert_eq!(span.name, "request");
        let bytes = |id: opentelemetry::trace::SpanId| u64::from_be_bytes(id.to_bytes());
        assert_eq!(bytes(span.parent_span_id), came.span_id());
        assert_eq!(bytes(span.span_context.span_id()), goes.span_id());
        assert!(!format!("{:?}", span.attributes).contains("/things/7"));

        // Without one, the trace begins here and goes on all the same.
        let (_, body) = ask("/things/7", None).await;
        let goes: TraceParent = body.parse().unwrap();
        assert_ne!(goes.trace_id(), came.trace_id());
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
