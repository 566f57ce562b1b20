//! Wake-ups: they save waiting for the next look at the log, and nothing else.

use serde::{Deserialize, Serialize};

use crate::id::{JobId, RequestId};
use crate::priority::Priority;
use crate::request::{Inputs, Submission};

/// A request waits for its job (O-60). Only `request_id` is acted on; the request itself is in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobMessage {
    pub request_id: RequestId,
    pub workflow_id: String,
    /// Left out when they are large.
    #[serde(default)]
    pub inputs: Inputs,
    #[serde(default)]
    pub priority: Priority,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback_url: Option<String>,
}

/// Inputs up to this size travel with the wake-up.
const INPUT_BYTES_MAX: usize = 4 * 1024;

impl From<&Submission> for JobMessage {
    fn from(submission: &Submission) -> Self {
        let small = crate::json::size_bytes(&submission.inputs) <= INPUT_BYTES_MAX;
        Self {
            request_id: submission.request_id,
            workflow_id: submission.workflow_id.clone(),
            inputs: if small {
                submission.inputs.clone()
            } else {
                Inputs::new()
            },
            priority: submission.priority,
            callback_url: submission.callbacks.first().map(|c| c.url.clone()),
        }
    }
}

/// Somebody other than its owner wrote to a job's stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobChanged {
    pub job_id: JobId,
}
