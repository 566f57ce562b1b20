//! What a replay found, as data.

use serde::Serialize;
use serde_json::Value;

use super::entry::Entry;
use crate::job::Event;

/// Fields of one event that are named, at most.
const DIFFERENCES_MAX: usize = 64;

/// What became of a replay.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// Events that are as they were recorded, from the first one on.
    pub events: u64,
    /// Decisions that they came from.
    pub decisions: u64,
    /// Where today's decision is another one; nothing after it was looked at, because the job would be another.
    pub divergence: Option<Divergence>,
}

/// The first place where today's decision is not the recorded one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Divergence {
    pub kind: Kind,
    /// Where the recorded event stands; where the next one would, if the history ends before.
    pub version: u64,
    pub pos: Option<u64>,
    /// What was decided.
    pub command: String,
    /// Why it gives nothing today, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub recorded: Option<Value>,
    pub replayed: Option<Value>,
    /// The fields of the event that differ, if both are of one type.
    pub differences: Vec<Difference>,
}

/// In which way a decision is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Today there is an event that was not recorded.
    Missing,
    /// There is a recorded event that is not made today.
    Unexpected,
    /// The event has other values today.
    Different,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// A JSON pointer (RFC 6901) into the event.
    pub pointer: String,
    /// Nothing where only the other has it.
    pub recorded: Option<Value>,
    pub replayed: Option<Value>,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unexpected => "unexpected",
            Self::Different => "different",
        }
    }
}

impl Verdict {
    /// Whether every recorded decision is the one that is made today.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.divergence.is_none()
    }
}

impl Divergence {
    /// Today's event, and what was recorded in its place.
    pub(super) fn between(
        command: &str,
        replayed: &Event,
        recorded: Option<&Entry>,
        next: u64,
    ) -> Self {
        let today = json(replayed);
        let then = recorded.map(|entry| json(&entry.event));
        let same_type = then
            .as_ref()
            .is_some_and(|then| then.get("type") == today.get("type"));
        let mut differences = Vec::new();
        if let Some(then) = then.as_ref().filter(|_| same_type) {
            compare(then, &today, &mut String::new(), &mut differences);
        }
        Self {
            kind: if same_type {
                Kind::Different
            } else {
                Kind::Missing
            },
            version: recorded.map_or(next, |entry| entry.version),
            pos: recorded.map(|entry| entry.pos),
            command: command.to_owned(),
            reason: None,
            recorded: then,
            replayed: Some(today),
            differences,
        }
    }

    /// A recorded event that does not follow from anything today.
    pub(super) fn unexpected(command: &str, recorded: &Entry, reason: String) -> Self {
        Self {
            kind: Kind::Unexpected,
            version: recorded.version,
            pos: Some(recorded.pos),
            command: command.to_owned(),
            reason: Some(reason),
            recorded: Some(json(&recorded.event)),
            replayed: None,
            differences: Vec::new(),
        }
    }
}

fn json(event: &Event) -> Value {
    // It was read from JSON, or is about to be written as such.
    serde_json::to_value(event).unwrap_or_default()
}

/// Collects the smallest fields that differ.
fn compare(then: &Value, today: &Value, path: &mut String, found: &mut Vec<Difference>) {
    if then == today || found.len() >= DIFFERENCES_MAX {
        return;
    }
    let length = path.len();
    let mut below = |key: &str, then: Option<&Value>, today: Option<&Value>| {
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        match (then, today) {
            (Some(then), Some(today)) => compare(then, today, path, found),
            (then, today) if found.len() < DIFFERENCES_MAX => found.push(Difference {
                pointer: path.clone(),
                recorded: then.cloned(),
                replayed: today.cloned(),
            }),
            _ => {}
        }
        path.truncate(length);
    };
    match (then, today) {
        (Value::Object(then), Value::Object(today)) => {
            for (key, value) in then {
                below(key, Some(value), today.get(key));
            }
            for (key, value) in today.iter().filter(|(key, _)| !then.contains_key(*key)) {
                below(key, None, Some(value));
            }
        }
        (Value::Array(then), Value::Array(today)) => {
            for nth in 0..then.len().max(today.len()) {
                below(&nth.to_string(), then.get(nth), today.get(nth));
            }
        }
        _ => found.push(Difference {
            pointer: path.clone(),
            recorded: Some(then.clone()),
            replayed: Some(today.clone()),
        }),
    }
}
