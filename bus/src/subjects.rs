//! Names on the wire. A prefix keeps installations, and tests, apart on one server.

use std::fmt::Display;

use domain::id::OwnerId;
use domain::priority::Priority;

/// All subjects, streams and consumers of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    prefix: String,
}

/// Why a text cannot be the name of a queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the name of a queue: 1 to 64 of a-z, 0-9 and `-`")]
pub struct InvalidQueue(pub String);

/// Queue names become parts of subjects, so they must not contain dots or wildcards.
pub fn check_queue(queue: &str) -> Result<(), InvalidQueue> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if (1..=64).contains(&queue.len()) && queue.bytes().all(plain) {
        return Ok(());
    }
    Err(InvalidQueue(queue.chars().take(80).collect()))
}

impl Subjects {
    /// Subjects below `prefix`, which must be a queue-like name.
    pub fn new(prefix: &str) -> Result<Self, InvalidQueue> {
        check_queue(prefix)?;
        Ok(Self {
            prefix: prefix.to_owned(),
        })
    }

    fn below(&self, name: impl Display) -> String {
        format!("{}.{name}", self.prefix)
    }

    fn stream(&self, name: &str) -> String {
        format!("{}_{name}", self.prefix.to_uppercase().replace('-', "_"))
    }

    /// Whether a subject belongs to this installation, and names one place.
    #[must_use]
    pub fn is_ours(&self, subject: &str) -> bool {
        let rest = subject.strip_prefix(&self.prefix);
        rest.is_some_and(|rest| rest.starts_with('.')) && !subject.contains(['*', '>', ' '])
    }

    /// Requests that wait for a job (stream `ORCHESTRATOR_JOBS`).
    #[must_use]
    pub fn orchestrator_jobs(&self) -> String {
        self.below("orchestrator-jobs")
    }

    /// Tasks of one queue and priority (stream `TASKS`).
    #[must_use]
    pub fn tasks(&self, queue: &str, priority: Priority) -> String {
        self.below(format_args!("tasks.{queue}.{}", priority.as_str()))
    }

    /// All tasks.
    #[must_use]
    pub fn all_tasks(&self) -> String {
        self.below("tasks.>")
    }

    /// Reports to one owner, by request and reply.
    #[must_use]
    pub fn report(&self, owner: OwnerId) -> String {
        self.below(format_args!("report.{owner}"))
    }

    /// Asks whichever orchestrator hears it first who owns a job.
    #[must_use]
    pub fn reports_any(&self) -> String {
        self.below("reports.any")
    }

    /// Asks any orchestrator for results that were too large for a message.
    #[must_use]
    pub fn results_any(&self) -> String {
        self.below("results.any")
    }

    /// Heartbeats of workers, heard by every orchestrator.
    #[must_use]
    pub fn heartbeats(&self) -> String {
        self.below("heartbeats")
    }

    /// Orders to one worker.
    #[must_use]
    pub fn worker(&self, worker_id: &str) -> String {
        self.below(format_args!("worker.{worker_id}"))
    }

    /// Messages that break the contract, for whoever keeps them.
    #[must_use]
    pub fn dead_letters(&self) -> String {
        self.below("dead-letters")
    }

    /// The log has grown; the payload is the last position as text.
    #[must_use]
    pub fn log_grew(&self) -> String {
        self.below("log")
    }

    /// Somebody other than its owner wrote to a job.
    #[must_use]
    pub fn job_changed(&self) -> String {
        self.below("job-changed")
    }

    /// An orchestrator has left; its jobs are free.
    #[must_use]
    pub fn owner_left(&self) -> String {
        self.below("owner-left")
    }

    /// Name of the stream of tasks.
    #[must_use]
    pub fn tasks_stream(&self) -> String {
        self.stream("TASKS")
    }

    /// Name of the stream of waiting requests.
    #[must_use]
    pub fn jobs_stream(&self) -> String {
        self.stream("ORCHESTRATOR_JOBS")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_reach_into_other_subjects_are_refused() {
        for bad in ["", "a.b", "a*", ">", "A", "a b", "a_b", &"x".repeat(65)] {
            assert!(check_queue(bad).is_err(), "{bad}");
        }
        for good in ["functionapp-tasks", "container-tasks", "q1"] {
            assert_eq!(check_queue(good), Ok(()));
        }
    }

    #[test]
    fn the_prefix_is_in_every_name() -> Result<(), InvalidQueue> {
        let names = Subjects::new("test-7")?;
        assert_eq!(
            names.tasks("container-tasks", Priority::Low),
            "test-7.tasks.container-tasks.low"
        );
        assert_eq!(names.tasks_stream(), "TEST_7_TASKS");
        Ok(())
    }
}
