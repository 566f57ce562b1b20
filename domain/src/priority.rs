//! Three tiers of urgency; each queue has one subject per tier.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How urgent work is. `High` sorts first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    High,
    #[default]
    Normal,
    Low,
}

/// Why a text is not a priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a priority; use high, normal or low")]
pub struct InvalidPriority(String);

impl Priority {
    /// All tiers, the most urgent first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// The tier of a numeric priority: 0 is low, 1 normal, 2 and more high.
    #[must_use]
    pub fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Low,
            1 => Self::Normal,
            _ => Self::High,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Priority {
    type Err = InvalidPriority;

    fn from_str(text: &str) -> Result<Self, InvalidPriority> {
        let found = Self::ALL.into_iter().find(|tier| tier.name() == text);
        found.ok_or_else(|| InvalidPriority(text.chars().take(80).collect()))
    }
}
