//! The recorder of this process. Until it is installed, measuring costs nothing and leads nowhere.

use std::sync::OnceLock;

use bus::metric::{self, Kind};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// Bounds of times, from a fast commit to a long task.
const SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0, 1_800.0,
];
/// Bounds of the sizes of batches.
const EVENTS: &[f64] = &[
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 5_000.0,
];

static INSTALLED: OnceLock<PrometheusHandle> = OnceLock::new();

/// Records from now on; the same recorder when it is called again.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    if let Some(handle) = INSTALLED.get() {
        return Ok(handle.clone());
    }
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_events".to_owned()), EVENTS)?
        .install_recorder()?;
    describe();
    Ok(INSTALLED.get_or_init(|| handle).clone())
}

/// Says in every scrape what each number means.
fn describe() {
    for metric in metric::ALL {
        let (name, help) = (metric.name, metric.help);
        match metric.kind {
            Kind::Counter => metrics::describe_counter!(name, help),
            Kind::Gauge => metrics::describe_gauge!(name, help),
            Kind::Histogram => metrics::describe_histogram!(name, help),
        }
    }
}
