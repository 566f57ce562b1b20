//! Traces of this process, for whoever collects them: only when `OTEL_EXPORTER_OTLP_ENDPOINT` is set.
//!
//! Spans of requests and of tasks leave the process, without what is logged in them. The batches are sent from a
//! small runtime of their own, so that they also leave while the program itself ends.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter as Otlp;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::runtime::{Builder, Handle, Runtime};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// Where traces go; nothing is exported without it.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// How long the last spans may take when the program ends.
const FLUSH: Duration = Duration::from_secs(3);
/// The rooms whose spans leave the process.
const ROOMS: [&str; 2] = ["api::", "workers::"];

static RUNNING: OnceLock<(SdkTracerProvider, Runtime)> = OnceLock::new();

/// The layer that exports, if somebody wants traces. What is wrong with the settings is said on stderr, once,
/// and the program goes on without.
pub(crate) fn layer<S>() -> Option<impl Layer<S>>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let is_wanted = std::env::var_os(ENDPOINT).is_some_and(|value| !value.is_empty());
    if !is_wanted {
        return None;
    }
    let provider = match provider() {
        Ok(provider) => provider,
        Err(reason) => {
            use std::io::Write as _;
            // There is no log yet to say it in.
            let _ = writeln!(
                std::io::stderr(),
                "warning: no traces are exported: {reason}"
            );
            return None;
        }
    };
    let spans = filter_fn(|metadata| {
        metadata.is_span() && ROOMS.iter().any(|room| metadata.target().starts_with(room))
    });
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("strata"));
    Some(layer.with_filter(spans))
}

/// Sends what is left; returns when that is done, or has taken too long.
pub(crate) fn finish() {
    if let Some((provider, _)) = RUNNING.get()
        && let Err(error) = provider.shutdown_with_timeout(FLUSH)
    {
        tracing::debug!(%error, "the last spans were not sent");
    }
}

fn provider() -> Result<SdkTracerProvider, String> {
    // The client takes whatever the process has chosen; a second choice changes nothing.
    let _ = bus::async_nats::rustls::crypto::ring::default_provider().install_default();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("traces")
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let exporter = Otlp::builder().with_http().build();
    let exporter = exporter.map_err(|error| error.to_string())?;
    let exporter = Outbound {
        otlp: Arc::new(exporter),
        runtime: runtime.handle().clone(),
        complained: AtomicBool::new(false),
    };
    let provider = SdkTracerProvider::builder()
        .with_resource(resource())
        .with_batch_exporter(exporter)
        .build();
    let (provider, _) = RUNNING.get_or_init(|| (provider, runtime));
    Ok(provider.clone())
}

/// Who the spans are from; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` can say more.
fn resource() -> Resource {
    let builder = Resource::builder();
    if std::env::var_os("OTEL_SERVICE_NAME").is_some() {
        return builder.build();
    }
    builder.with_service_name("strata").build()
}

/// The exporter, on a runtime: its client needs one, and the thread that calls it has none.
#[derive(Debug)]
struct Outbound {
    otlp: Arc<Otlp>,
    runtime: Handle,
    complained: AtomicBool,
}

impl SpanExporter for Outbound {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let otlp = Arc::clone(&self.otlp);
        let sent = self.runtime.spawn(async move { otlp.export(batch).await });
        let sent = match sent.await {
            Ok(sent) => sent,
            Err(error) => Err(OTelSdkError::InternalFailure(error.to_string())),
        };
        // Once, until it works again: a collector that is away must not fill the log.
        let failed = sent.is_err();
        if failed != self.complained.swap(failed, Ordering::AcqRel) {
            match &sent {
                Ok(()) => tracing::info!("traces are exported again"),
                Err(error) => tracing::warn!(%error, "traces are not exported"),
            }
        }
        sent
    }

    fn set_resource(&mut self, resource: &Resource) {
        if let Some(otlp) = Arc::get_mut(&mut self.otlp) {
            otlp.set_resource(resource);
        }
    }
}
