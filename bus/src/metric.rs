//! The names of everything that is measured, in one place: the same dashboards read all processes.
//!
//! A name ends with its unit, and in `_total` if it only counts up. Labels are few and bounded: queues,
//! priorities, projectors, failure classes, route templates. Never a job, an organisation or a key.

/// What kind of number it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// One thing that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    pub help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident $kind:ident $name:literal $help:literal;)*) => {
        $(#[doc = $help] pub const $constant: &str = $name;)*

        /// All of them, as a scrape describes them.
        pub const ALL: &[Metric] = &[
            $(Metric { name: $name, kind: Kind::$kind, help: $help },)*
        ];
    };
}

metrics! {
    APPEND_BATCH_EVENTS Histogram "strata_append_batch_events"
        "Events in one commit to the log.";
    APPEND_DURATION Histogram "strata_append_duration_seconds"
        "Time of one commit to the log, with its repetitions.";
    APPEND_RETRIES Counter "strata_append_retries_total"
        "Commits that were sent again because their answer was lost.";
    PROJECTOR_BATCH_EVENTS Histogram "strata_projector_batch_events"
        "Events in one transaction of a projector.";
    PROJECTOR_ERRORS Counter "strata_projector_errors_total"
        "Transactions of a projector that failed.";
    DISPATCH_PUBLISHED Counter "strata_dispatch_published_total"
        "Task messages that a queue has taken.";
    TASKS_STARTED Counter "strata_tasks_started_total"
        "Runs of tasks that this worker has begun.";
    TASKS_COMPLETED Counter "strata_tasks_completed_total"
        "Runs of tasks whose handler returned a result, in this worker.";
    TASKS_FAILED Counter "strata_tasks_failed_total"
        "Runs of tasks that failed, by class, in this worker.";
    TASK_DURATION Histogram "strata_task_duration_seconds"
        "Time that a handler took, in this worker.";
    LOG_EVENTS Counter "strata_log_events_total"
        "Events of the log by type, counted by whoever samples since its start.";
    LOG_TASK_FAILURES Counter "strata_log_task_failures_total"
        "Failed attempts of tasks in the log by class, counted by whoever samples since its start.";
    LOG_HEAD Gauge "strata_log_head_position"
        "The last position of the log.";
    LOG_PARTITIONS_AHEAD Gauge "strata_log_partitions_ahead"
        "Whole partitions of the log that wait beyond its head.";
    JOBS_OPEN Gauge "strata_jobs_open"
        "Requests and jobs that have not ended.";
    JOBS_QUARANTINED Gauge "strata_jobs_quarantined"
        "Jobs that are left alone because whoever takes them dies.";
    REQUESTS_UNCLAIMED Gauge "strata_requests_unclaimed"
        "Requests that no orchestrator has taken.";
    REQUESTS_UNCLAIMED_AGE Gauge "strata_requests_unclaimed_age_seconds"
        "How long the oldest of them waits.";
    TASKS_READY Gauge "strata_tasks_ready"
        "Tasks that could run and wait for a place in their queue.";
    TASKS_RUNNING Gauge "strata_tasks_running"
        "Tasks that workers run.";
    ORCHESTRATORS_ALIVE Gauge "strata_orchestrators_alive"
        "Orchestrators with a lease.";
    ORCHESTRATOR_HEARTBEAT_AGE Gauge "strata_orchestrator_heartbeat_age_seconds"
        "Time since the last heartbeat of the most silent orchestrator that still owns jobs.";
    PROJECTOR_LAG_EVENTS Gauge "strata_projector_lag_events"
        "Events that a projector has not seen.";
    PROJECTOR_LAG_SECONDS Gauge "strata_projector_lag_seconds"
        "Age of the first event that a projector has not seen.";
    PROJECTOR_HEARTBEAT_AGE Gauge "strata_projector_heartbeat_age_seconds"
        "Time since the leader of a projector last said that it lives.";
    PROJECTOR_PARKED Gauge "strata_projector_parked_streams"
        "Streams that could not be followed to their end.";
    QUEUE_DEPTH Gauge "strata_queue_depth_tasks"
        "Messages that no worker has taken.";
    QUEUE_IN_FLIGHT Gauge "strata_queue_in_flight_tasks"
        "Messages that workers hold.";
    QUEUE_OLDEST_AGE Gauge "strata_queue_oldest_age_seconds"
        "How long the oldest message waits that no worker has taken.";
    WORKERS Gauge "strata_workers"
        "Workers that were heard within half a minute.";
    WORKER_SLOTS Gauge "strata_worker_slots"
        "Tasks of a queue that all workers together run at once.";
    WORKER_RUNS Gauge "strata_worker_runs"
        "Runs that workers have announced.";
    CALLBACK_BACKLOG Gauge "strata_callback_backlog_deliveries"
        "Callbacks that are due and not delivered.";
    CALLBACK_BACKLOG_AGE Gauge "strata_callback_backlog_age_seconds"
        "How long the oldest of them is due.";
    DEAD_LETTERS Gauge "strata_dead_letters"
        "Messages that nobody could make sense of.";
    SAMPLER_UP Gauge "strata_sampler_up"
        "1 if the last look at database and queues succeeded; else the gauges are old.";
    READY Gauge "strata_ready"
        "1 if this process is ready, as /readyz says.";
    HTTP_REQUESTS Counter "strata_http_requests_total"
        "Answered requests by route, method and status class.";
    HTTP_CONNECTIONS Gauge "strata_http_connections"
        "Open connections.";
    HTTP_CONNECTIONS_REFUSED Counter "strata_http_connections_refused_total"
        "Connections that were closed because there were too many.";
    HTTP_DURATION Histogram "strata_http_request_duration_seconds"
        "Time to answer a request, by route and method.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_are() {
        for metric in ALL {
            assert!(metric.name.starts_with("strata_"), "{}", metric.name);
            let counts = metric.name.ends_with("_total");
            assert_eq!(counts, metric.kind == Kind::Counter, "{}", metric.name);
            assert!(metric.help.ends_with('.'), "{}", metric.name);
        }
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
