//! Hashes that tell a repeated submission from a new one.

use serde_json::{Value, json};

use super::{CallbackRef, Inputs, Submission};
use crate::json::{canonical, sha256_hex};

/// The SHA-256 of what the caller asked for, as canonical JSON.
///
/// Everything that the caller chose counts. Ids that follow from it do not, and neither do the
/// secret refs: the shell may draw a fresh one for every call that brings the same secret.
#[must_use]
pub fn body_hash(submission: &Submission) -> String {
    let urls: Vec<&str> = submission
        .callbacks
        .iter()
        .map(|callback| callback.url.as_str())
        .collect();
    let mut body = json!({
        "callbacks": urls,
        "inputs": submission.inputs,
        "org_id": submission.org_id,
        "platform_id": submission.platform_id,
        "priority": submission.priority,
        "refs": submission.refs,
        "workflow_id": submission.workflow_id,
        "workflow_version": submission.workflow_version,
    });
    // Only when given, so that hashes of earlier versions stay what they were.
    if let (Some(job), Value::Object(body)) = (submission.retry_of, &mut body) {
        body.insert("retry_of".to_owned(), json!(job));
    }
    if let (Some(fork), Value::Object(body)) = (&submission.forked_from, &mut body) {
        body.insert("forked_from".to_owned(), json!(fork));
    }
    let patience = |c: &CallbackRef| c.retry_count.is_some() || c.timeout_seconds.is_some();
    if let (true, Value::Object(body)) = (submission.callbacks.iter().any(patience), &mut body) {
        let each = submission.callbacks.iter();
        let given: Vec<_> = each
            .map(|c| json!([c.retry_count, c.timeout_seconds]))
            .collect();
        body.insert("callback_patience".to_owned(), json!(given));
    }
    hash(&body)
}

/// The idempotency key of a job type that is identified by its parameters (G-04, C-05).
#[must_use]
pub fn parameters_key(job_type: &str, parameters: &Inputs) -> String {
    hash(&json!({"job_type": job_type, "parameters": parameters}))
}

fn hash(value: &Value) -> String {
    sha256_hex(canonical(value).as_bytes())
}
