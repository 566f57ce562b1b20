//! What a worker shows of its runs: a span for each, and counts by queue.

use bus::metric;
use domain::id::RunId;
use domain::message::{ReportOutcome, TaskMessage};
use domain::trace::TraceParent;
use tokio::time::Instant;

/// The span of a run, in the trace of whoever asked for the job. Its fields are on every line that is
/// logged in it.
pub(super) fn span_of(task: &TaskMessage, run_id: RunId) -> tracing::Span {
    let trace: Option<TraceParent> = task.traceparent.as_deref().and_then(|t| t.parse().ok());
    let span = tracing::info_span!(
        "task",
        trace_id = trace.map(TraceParent::trace_hex),
        job.id = %task.job_id,
        node = %task.node_id,
        attempt = task.attempt,
        task_id = task.task_id,
        run_id = %run_id,
        queue = task.queue,
        handler = task.handler,
        outcome = tracing::field::Empty,
    );
    if let Some(trace) = trace {
        bus::trace::continue_in(&span, trace);
    }
    span
}

/// Since when a handler runs.
pub(super) struct Clock {
    queue: String,
    begun: Instant,
}

/// A handler begins.
pub(super) fn begun(queue: &str) -> Clock {
    metrics::counter!(metric::TASKS_STARTED, "queue" => queue.to_owned()).increment(1);
    Clock {
        queue: queue.to_owned(),
        begun: Instant::now(),
    }
}

impl Clock {
    /// It has ended, however that was.
    pub(super) fn stop(self) {
        let took = self.begun.elapsed();
        metrics::histogram!(metric::TASK_DURATION, "queue" => self.queue).record(took);
    }
}

/// Counts how a run ended, and notes it in its span.
pub(super) fn ended(queue: &str, outcome: &ReportOutcome) {
    let queue = queue.to_owned();
    let word = match outcome {
        ReportOutcome::Failed { failure } => {
            let class = failure.class.as_str();
            metrics::counter!(metric::TASKS_FAILED, "queue" => queue, "class" => class)
                .increment(1);
            class
        }
        ReportOutcome::Completed { .. } => {
            metrics::counter!(metric::TASKS_COMPLETED, "queue" => queue).increment(1);
            "completed"
        }
        _ => return,
    };
    tracing::Span::current().record("outcome", word);
}
