//! What happened to a platform.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::Platform;

/// A fact of the stream `platform:<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The platform became known.
    PlatformRegistered {
        platform_id: String,
        name: String,
        required_refs: BTreeSet<String>,
        optional_refs: BTreeSet<String>,
        at: DateTime<Utc>,
    },
    /// Its name or its optional refs changed; the required refs cannot.
    PlatformUpdated {
        name: String,
        optional_refs: BTreeSet<String>,
        at: DateTime<Utc>,
    },
    /// What all events so far have made of the platform, so that they can be archived: reading may begin here.
    PlatformCarried {
        platform: Platform,
        at: DateTime<Utc>,
    },
}
