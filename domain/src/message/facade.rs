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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::id::{NodeId, OwnerId, RequestId};
    use crate::priority::Priority;

    fn keys(value: &Value) -> Vec<String> {
        let mut keys: Vec<_> = value
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, _)| k.clone())
            .collect();
        keys.sort();
        keys
    }

    #[test]
    fn both_messages_have_the_names_of_the_earlier_platform() {
        let at = DateTime::from_timestamp(0, 0).unwrap();
        let request_id = RequestId::new(uuid::Uuid::from_u128(7));
        let wake = JobMessage {
            request_id,
            workflow_id: "echo".to_owned(),
            inputs: Map::from_iter([("name".to_owned(), json!("Ada"))]),
            priority: Priority::Normal,
            callback_url: None,
        };
        let shown = json!(JobQueueMessage::new(&wake, at));
        assert_eq!(shown["job_type"], "echo");
        assert_eq!(shown["parameters"], json!({"name": "Ada"}));
        let names =
            "correlation_id job_id job_type message_id parameters stage stage_results timestamp";
        assert_eq!(keys(&shown).join(" "), names);

        let job_id = JobId::of_request(request_id);
        let node_id = NodeId::from("tile__3");
        let task = TaskMessage {
            task_id: node_id.task_id(job_id, 1),
            job_id,
            node_id,
            handler: "echo".to_owned(),
            params: json!({"x": 1}),
            timeout_seconds: 60,
            retry_count: 0,
            attempt: 1,
            epoch: 1,
            queue: "functionapp-tasks".to_owned(),
            priority: Priority::Normal,
            owner: OwnerId(uuid::Uuid::nil()),
            checkpoint: None,
            traceparent: None,
        };
        let shown = json!(TaskQueueMessage::new(&task, 2, at));
        assert_eq!(
            (&shown["task_index"], &shown["stage"]),
            (&json!(3), &json!(2))
        );
        let names =
            "parameters parent_job_id parent_task_id stage task_id task_index task_type timestamp";
        assert_eq!(keys(&shown).join(" "), names);
    }
}
