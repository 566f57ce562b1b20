//! What a request asks for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::asset::AssetId;
use crate::id::{JobId, RequestId};
use crate::platform::Refs;
use crate::priority::Priority;

/// The values that a workflow is started with, by name.
pub type Inputs = serde_json::Map<String, Value>;

/// The content of a request, as the command brings it and the event keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    pub request_id: RequestId,
    pub org_id: String,
    pub platform_id: String,
    /// The asset that the work is for, if it is for one; derived from platform and refs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asset_id: Option<AssetId>,
    pub refs: Refs,
    pub workflow_id: String,
    /// The wanted version; the latest one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_version: Option<u32>,
    pub inputs: Inputs,
    #[serde(default)]
    pub priority: Priority,
    /// The job whose finished work the new one takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<JobId>,
    /// The same, of a job that ended and is started again in the middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Fork>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callbacks: Vec<CallbackRef>,
    /// Tells a repeated submission from another one; see [`body_hash`](super::body_hash()).
    pub body_hash: String,
}

/// Where a new job starts again in an older one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    pub job_id: JobId,
    /// Names of nodes, sorted; what reads a changed input runs again besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<String>,
}

/// Where to call when the job ends; the secret itself is kept outside the log (C-28).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackRef {
    pub url: String,
    /// The name of the signing secret in the secret store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<String>,
    /// Tries after the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u32>,
    /// How long one try may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
}

impl CallbackRef {
    /// A callback to this address, with the organisation's own secret and the usual patience.
    #[must_use]
    pub fn to(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            secret_ref: None,
            retry_count: None,
            timeout_seconds: None,
        }
    }
}
