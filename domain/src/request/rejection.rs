//! Why a command on a request is refused.

use super::limits::{
    CALLBACK_RETRIES_MAX, CALLBACK_SECONDS_MAX, CALLBACKS_MAX, INPUT_BYTES_MAX, NAME_BYTES_MAX,
    REFS_BYTES_MAX, URL_BYTES_MAX,
};
use crate::asset::AssetId;
use crate::context::Role;
use crate::id::{JobId, RequestId};

/// A refusal that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The request exists with another body.
    #[error(
        "request {request_id} was submitted with another body \
         (hash {submitted}, now {given}); use a new idempotency key for new work"
    )]
    Conflict {
        request_id: RequestId,
        submitted: String,
        given: String,
    },
    /// Nobody submitted this request.
    #[error("the request does not exist")]
    NotFound,
    /// The actor's role may not do this.
    #[error("the {role} may not {action} a request; only the {needed} may")]
    WrongRole {
        action: &'static str,
        role: Role,
        needed: Role,
    },
    /// A job exists, so the request can no longer be taken back.
    #[error("the request is executed by {job_id}; cancel the job instead")]
    JobExists { job_id: JobId },
    /// The request was taken back, so no job may begin.
    #[error("the request was withdrawn: {reason}")]
    Withdrawn { reason: String },
    /// The job is not the one that follows from the request's id.
    #[error("{given} is not the job of this request; that is {expected}")]
    OtherJob { given: JobId, expected: JobId },
    /// The asset id does not follow from platform and refs.
    #[error("{given} is not the asset of these refs; that is {expected}")]
    OtherAsset { given: AssetId, expected: AssetId },
    /// The platform id is not of the allowed form.
    #[error("`{platform_id}` is not a platform id")]
    InvalidPlatform { platform_id: String },
    /// A name is empty, too long or holds control characters.
    #[error("{field} must have 1 to {NAME_BYTES_MAX} bytes without control characters")]
    InvalidName { field: &'static str },
    /// Versions count from 1.
    #[error("workflow version 0 does not exist; versions count from 1")]
    VersionZero,
    /// The body hash is not a SHA-256.
    #[error("the body hash must be 64 lower-case hex digits")]
    InvalidHash,
    /// The inputs are too large.
    #[error("the inputs have {size_bytes} bytes of JSON; at most {INPUT_BYTES_MAX} are allowed")]
    InputsTooLarge { size_bytes: usize },
    /// The refs are too large.
    #[error("the refs have {size_bytes} bytes of JSON; at most {REFS_BYTES_MAX} are allowed")]
    RefsTooLarge { size_bytes: usize },
    /// Too many callbacks are asked for.
    #[error("a request has at most {CALLBACKS_MAX} callbacks, this one {count}")]
    TooManyCallbacks { count: usize },
    /// A callback's address is not one that can be called; the text is not repeated, as it may
    /// hold a secret.
    #[error(
        "callback {index} is not an http or https address of at most {URL_BYTES_MAX} bytes \
         without user name and password"
    )]
    InvalidCallback { index: usize },
    /// A callback is to be tried too often or for too long.
    #[error(
        "callback {index} must have a retry count of 0 to {CALLBACK_RETRIES_MAX} \
         and a time-out of 1 to {CALLBACK_SECONDS_MAX} seconds"
    )]
    InvalidPatience { index: usize },
}
