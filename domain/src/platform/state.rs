//! What is known of a platform.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// One platform, or nothing as long as it is not registered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub(super) platform: Option<Platform>,
}

/// A registered platform and its id scheme. It is also what `platform_carried` holds: its JSON changes only with an
/// upcast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    pub platform_id: String,
    pub name: String,
    pub required_refs: BTreeSet<String>,
    pub optional_refs: BTreeSet<String>,
    pub registered_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl State {
    /// The platform, once it is registered.
    #[must_use]
    pub fn platform(&self) -> Option<&Platform> {
        self.platform.as_ref()
    }
}
