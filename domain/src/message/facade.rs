//! The same messages under the names of the earlier platform (G-24, G-25).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{JobMessage, TaskMessage};
use crate::id::JobId;

/// [`JobMessage`] under the names of G-24.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobQueueMessage {
    pub job_id: JobId,
    pub job_type: String,
    /// Stages count from 1; a job that waits has done none.
    pub stage: u32,
    pub parameters: Map<String, Value>,
    pub stage_results: Map<String, Value>,
    pub timestamp: DateTime<Utc>,
    pub message_id: String,
    pub correlation_id: String,
}

/// [`TaskMessage`] under the names of G-25.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskQueueMessage {
    pub task_id: String,
    pub parent_job_id: JobId,
    pub task_type: String,
    pub stage: u32,
    /// The child of a fan-out, counted from 0.
    pub task_index: u32,
    pub parameters: Value,
    pub parent_task_id: Option<String>,
    pub timestamp: DateTime<Utc>,
}

impl JobQueueMessage {
    /// Shows a wake-up of `at` under the old names.
    #[must_use]
    pub fn new(message: &JobMessage, at: DateTime<Utc>) -> Self {
        Self {
            job_id: JobId::of_request(message.request_id),
            job_type: message.workflow_id.clone(),
            stage: 1,
            parameters: message.inputs.clone(),
            stage_results: Map::new(),
            timestamp: at,
            message_id: message.request_id.to_string(),
            correlation_id: message.request_id.to_string(),
        }
    }
}

impl TaskQueueMessage {
    /// Shows a task of `stage`, sent at `at`, under the old names.
    #[must_use]
    pub fn new(message: &TaskMessage, stage: u32, at: DateTime<Utc>) -> Self {
        Self {
            task_id: message.task_id.clone(),
            parent_job_id: message.job_id,
            task_type: message.handler.clone(),
            stage,
            task_index: message.node_id.child.unwrap_or(0),
            parameters: message.params.clone(),
            parent_task_id: None,
            timestamp: at,
        }
    }
}
