//! How urgent work is: three tiers, each with a subject of its own per queue (C-39).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tier of a job or a node; the most urgent one sorts first.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
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
#[error("`{text}` is not a priority; expected `high`, `normal` or `low`")]
pub struct InvalidPriority {
    text: String,
}

impl Priority {
    /// All tiers, most urgent first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// The tier of a numeric priority: 0 is low, 1 is normal, anything above is high.
    #[must_use]
    pub fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Low,
            1 => Self::Normal,
            2.. => Self::High,
        }
    }

    /// The word on the wire and in subjects.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Priority {
    type Err = InvalidPriority;

    fn from_str(text: &str) -> Result<Self, InvalidPriority> {
        Self::ALL
            .into_iter()
            .find(|tier| tier.as_str() == text)
            .ok_or_else(|| InvalidPriority {
                text: text.chars().take(80).collect(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_as_text_and_as_json() {
        for tier in Priority::ALL {
            assert_eq!(tier.to_string().parse(), Ok(tier));
            let json = serde_json::to_string(&tier).expect("a word");
            assert_eq!(json, format!("\"{tier}\""));
            assert_eq!(serde_json::from_str::<Priority>(&json).ok(), Some(tier));
        }
        assert!("urgent".parse::<Priority>().is_err());
        assert!("High".parse::<Priority>().is_err());
    }

    #[test]
    fn high_sorts_first_and_normal_is_the_default() {
        assert!(Priority::High < Priority::Normal && Priority::Normal < Priority::Low);
        assert_eq!(Priority::default(), Priority::Normal);
    }

    #[test]
    fn numbers_map_to_tiers() {
        let tiers = [0, 1, 2, 3, 255].map(Priority::from_number);
        assert_eq!(
            tiers.map(Priority::as_str),
            ["low", "normal", "high", "high", "high"]
        );
    }
}
