//! Trace context at both ends of the way: from a span into a message, and from a message into a span.
//!
//! Without an exporter of traces all of this does nothing.

use domain::trace::TraceParent;
use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Makes a span that has not begun a child of the one that a message names.
pub fn continue_in(span: &Span, parent: TraceParent) {
    let flags = if parent.is_sampled() {
        TraceFlags::SAMPLED
    } else {
        TraceFlags::default()
    };
    let remote = SpanContext::new(
        TraceId::from_bytes(parent.trace_id().to_be_bytes()),
        SpanId::from_bytes(parent.span_id().to_be_bytes()),
        flags,
        true,
        TraceState::default(),
    );
    // It fails when nothing is exported, which is no reason to say a word.
    let _ = span.set_parent(Context::new().with_remote_span_context(remote));
}

/// What a message that this span sends should carry; nothing when no span is exported.
#[must_use]
pub fn of(span: &Span) -> Option<TraceParent> {
    let context = span.context();
    let context = context.span().span_context().clone();
    let trace_id = u128::from_be_bytes(context.trace_id().to_bytes());
    let span_id = u64::from_be_bytes(context.span_id().to_bytes());
    TraceParent::with_flags(trace_id, span_id, context.trace_flags().to_u8()).ok()
}
