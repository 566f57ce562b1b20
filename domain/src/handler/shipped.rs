//! The handlers that ship with Strata.

use super::Handler;

/// All shipped declarations.
pub(super) fn all() -> Vec<Handler> {
    Vec::new()
}
