//! Why a workflow definition is not registered.

use super::decide::SOURCE_BYTES_MAX;

/// A refusal that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The version is known with other content.
    #[error(
        "version {version} is registered with content {registered}, not {given}; \
         raise `version:` to register the changed file"
    )]
    VersionTaken {
        version: u32,
        registered: String,
        given: String,
    },
    /// Versions count from 1.
    #[error("version 0 is not a version; `version:` counts from 1")]
    VersionZero,
    /// The file has no content.
    #[error("the source of the workflow is empty")]
    SourceEmpty,
    /// The file is too long.
    #[error("the source has {size_bytes} bytes; at most {SOURCE_BYTES_MAX} are allowed")]
    SourceTooLong { size_bytes: usize },
    /// The hash is not a SHA-256.
    #[error("`{hash}` is not a content hash; expected 64 lower-case hex digits")]
    InvalidHash { hash: String },
}
