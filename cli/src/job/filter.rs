//! Filters of jobs, as the API takes them and as a command names them.

use serde_json::{Value, json};

use super::args::FilterArgs;

impl FilterArgs {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The input of the API.
    pub(super) fn input(&self) -> Value {
        let words: Vec<String> = self.status.iter().map(|word| word.to_uppercase()).collect();
        json!({
            "status": (!words.is_empty()).then_some(words),
            "workflow": self.workflow,
            "text": self.text,
            "createdFrom": self.since,
            "createdUntil": self.until,
        })
    }

    /// The same on a command line; begins with a space.
    pub(super) fn flags(&self) -> String {
        let mut flags = String::new();
        for status in &self.status {
            flags.push_str(&format!(" --status {status}"));
        }
        let texts = [("workflow", &self.workflow), ("text", &self.text)];
        for (name, value) in texts
            .into_iter()
            .filter_map(|(n, v)| Some((n, v.as_ref()?)))
        {
            flags.push_str(&format!(" --{name} '{}'", value.replace('\'', "'\\''")));
        }
        for (name, value) in [("since", self.since), ("until", self.until)] {
            if let Some(value) = value {
                flags.push_str(&format!(" --{name} {}", value.to_rfc3339()));
            }
        }
        flags
    }
}
