//! A job as the API shows it, and what programs get of it: the names of the read models.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Fields of a [`Job`].
pub(super) const JOB: &str = "id workflowId workflowVersion workflowHash status inputs requestId priority origin \
     ownerId ownerHeartbeatAt paused degraded result failure createdAt updatedAt completedAt position \
     progress { counts { pending ready dispatched running completed failed skipped total } }";

/// Fields of a [`Node`]; `$full` asks for those that may be large too.
pub(super) const NODE: &str = "id ordinal stage kind status taskId attempt retryCount handler queue workerId runId \
     errorMessage branch skipReason skippedBy readyAt dispatchedAt startedAt completedAt updatedAt \
     output @include(if: $full) externalOutput @include(if: $full) failure @include(if: $full) \
     checkpoint @include(if: $full) \
     childCounts { pending ready dispatched running completed failed skipped total }";

/// Fields of an [`OpenJob`].
pub(super) const OPEN_JOB: &str = "jobId requestId ownerId claims quarantined";

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Job {
    #[serde(rename(deserialize = "id"))]
    pub(super) job_id: String,
    pub(super) workflow_id: String,
    pub(super) workflow_version: i32,
    workflow_hash: String,
    pub(super) status: String,
    #[serde(rename(deserialize = "inputs"))]
    pub(super) input_params: Value,
    request_id: String,
    priority: String,
    pub(super) origin: Option<Value>,
    pub(super) owner_id: Option<String>,
    owner_heartbeat_at: Option<DateTime<Utc>>,
    pub(super) paused: bool,
    pub(super) degraded: bool,
    pub(super) result: Option<Value>,
    pub(super) failure: Option<Value>,
    pub(super) created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    pub(super) completed_at: Option<DateTime<Utc>>,
    #[serde(rename(deserialize = "position"))]
    last_pos: i64,
    #[serde(skip_serializing)]
    progress: Progress,
}

#[derive(Debug, Clone, Deserialize)]
struct Progress {
    counts: Counts,
}

/// How many nodes have each status.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Counts {
    pub(super) pending: i64,
    pub(super) ready: i64,
    pub(super) dispatched: i64,
    pub(super) running: i64,
    pub(super) completed: i64,
    pub(super) failed: i64,
    pub(super) skipped: i64,
    pub(super) total: i64,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Node {
    #[serde(rename(deserialize = "id"))]
    pub(super) node_id: String,
    ordinal: i32,
    stage: i32,
    pub(super) kind: String,
    pub(super) status: String,
    task_id: Option<String>,
    pub(super) attempt: i32,
    pub(super) retry_count: i32,
    pub(super) handler: Option<String>,
    queue: Option<String>,
    worker_id: Option<String>,
    run_id: Option<String>,
    output: Option<Value>,
    #[serde(rename(deserialize = "externalOutput"))]
    external: Option<Value>,
    pub(super) error_message: Option<String>,
    failure: Option<Value>,
    checkpoint: Option<Value>,
    branch: Option<i32>,
    pub(super) skip_reason: Option<String>,
    pub(super) skipped_by: Option<String>,
    pub(super) ready_at: Option<DateTime<Utc>>,
    dispatched_at: Option<DateTime<Utc>>,
    started_at: Option<DateTime<Utc>>,
    completed_at: Option<DateTime<Utc>>,
    updated_at: DateTime<Utc>,
    #[serde(skip_serializing)]
    pub(super) child_counts: Option<Counts>,
}

/// A job that has not ended, or the request that waits for one.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct OpenJob {
    pub(super) job_id: String,
    pub(super) request_id: String,
    owner_id: Option<String>,
    #[serde(skip_serializing)]
    pub(super) claims: i64,
    pub(super) quarantined: bool,
}

impl Job {
    pub(super) fn counts(&self) -> &Counts {
        &self.progress.counts
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let mut job = json!(self);
        if let Some(fields) = job.as_object_mut() {
            for (word, count) in self.counts().each() {
                fields.insert(word.to_lowercase(), count.into());
            }
            fields.insert("priority".to_owned(), self.priority.to_lowercase().into());
        }
        job
    }
}

impl Counts {
    /// Each status with its count, in the order in which people want to know.
    pub(super) fn each(&self) -> [(&'static str, i64); 7] {
        [
            ("COMPLETED", self.completed),
            ("RUNNING", self.running),
            ("DISPATCHED", self.dispatched),
            ("READY", self.ready),
            ("PENDING", self.pending),
            ("FAILED", self.failed),
            ("SKIPPED", self.skipped),
        ]
    }

    /// Those that there are any of, for programs.
    pub(super) fn some(&self) -> BTreeMap<&'static str, i64> {
        self.each().into_iter().filter(|(_, n)| *n > 0).collect()
    }
}

impl OpenJob {
    /// What programs see of a job that is only a request so far.
    pub(super) fn waiting_json(&self) -> Value {
        let mut job = json!(self);
        job["status"] = "WAITING".into();
        job
    }
}
