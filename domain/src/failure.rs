//! Failures as data: they are written into events and read back by later versions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::clean_text;

/// Why something failed, in a form that stays readable after an upgrade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    /// A stable name for programs, such as `template_error`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Anything else that helps to investigate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

/// What kind of failure it is; this alone decides whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// May pass by itself: a lost connection, a lost run.
    Transient,
    /// The other side asks us to slow down.
    Throttling,
    /// Will fail again however often it is tried.
    Permanent,
    /// Took longer than allowed.
    Timeout,
    /// Ended because its job ended.
    Cancelled,
    /// A party broke the interface: wrong type, missing field, bad template.
    Contract,
}

impl FailureClass {
    /// All classes, for tables and tests.
    pub const ALL: [Self; 6] = [
        Self::Transient,
        Self::Throttling,
        Self::Permanent,
        Self::Timeout,
        Self::Cancelled,
        Self::Contract,
    ];

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttling => "throttling",
            Self::Permanent => "permanent",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Contract => "contract",
        }
    }

    /// How often a task may run in total when its workflow gives no retry block.
    #[must_use]
    pub fn default_attempts_max(self) -> u32 {
        match self {
            Self::Transient | Self::Timeout => 3,
            Self::Throttling => 5,
            Self::Permanent | Self::Cancelled | Self::Contract => 1,
        }
    }

    /// Whether another attempt could end differently.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        self.default_attempts_max() > 1
    }
}

impl Failure {
    /// A failure whose text has been cut and freed of control zeros.
    #[must_use]
    pub fn new(class: FailureClass, code: &str, message: &str) -> Self {
        Self {
            class,
            code: clean_text(code),
            message: clean_text(message),
            detail: None,
        }
    }

    /// The same failure with its texts cut; for failures that come from outside.
    #[must_use]
    pub fn cleaned(self) -> Self {
        let detail = self
            .detail
            .filter(|d| crate::json::size_bytes(d) <= crate::json::TEXT_BYTES_MAX);
        Self {
            detail: detail.map(crate::json::clean),
            ..Self::new(self.class, &self.code, &self.message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FailureClass;

    #[test]
    fn a_class_is_counted_under_the_word_that_the_log_has() {
        for class in FailureClass::ALL {
            assert_eq!(serde_json::json!(class), class.as_str());
        }
    }
}
