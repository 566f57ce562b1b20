//! Why a platform is not registered.

use std::collections::BTreeSet;

use super::decide::{NAME_BYTES_MAX, REFS_MAX};

/// A refusal that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The required refs differ from those that asset ids are derived from.
    #[error(
        "platform `{platform_id}` identifies its assets by {registered:?}, not by {given:?}; \
         required refs cannot change, register a new platform instead"
    )]
    IdentityChanged {
        platform_id: String,
        registered: BTreeSet<String>,
        given: BTreeSet<String>,
    },
    /// The stream belongs to another platform.
    #[error("this is platform `{registered}`, not `{given}`")]
    OtherPlatform { registered: String, given: String },
    /// The id is not of the allowed form.
    #[error(
        "`{platform_id}` is not a platform id; expected a lower-case letter \
         and up to 63 lower-case letters, digits, `_` or `-`"
    )]
    InvalidId { platform_id: String },
    /// The name is empty or too long.
    #[error("the name of a platform has 1 to {NAME_BYTES_MAX} bytes, this one has {size_bytes}")]
    InvalidName { size_bytes: usize },
    /// Without a required ref all assets of the platform would be one.
    #[error("platform `{platform_id}` declares no required ref; at least one identifies an asset")]
    NoRequiredRef { platform_id: String },
    /// Too many refs are declared.
    #[error("a platform declares at most {REFS_MAX} refs, this one {count}")]
    TooManyRefs { count: usize },
    /// A ref's name is not of the allowed form.
    #[error("`{name}` is not a ref name; expected 1 to 64 letters, digits, `_`, `-` or `.`")]
    InvalidRefName { name: String },
    /// A ref is declared twice.
    #[error("the ref `{name}` is declared twice")]
    DuplicateRef { name: String },
}
