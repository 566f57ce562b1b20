//! Reads the fields of a body one by one and collects everything that is wrong with them.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::error::Problem;

/// Problems of one answer, at most.
pub(crate) const PROBLEMS_MAX: usize = 100;

/// The fields of an object that are not read yet, and what was wrong with those that are.
pub(crate) struct Fields {
    prefix: String,
    rest: Map<String, Value>,
    known: Vec<&'static str>,
    problems: Vec<Problem>,
}

impl Fields {
    pub(crate) fn new(map: Map<String, Value>) -> Self {
        Self::within(String::new(), map)
    }

    /// The fields of an object inside another; `prefix` is where it stands, such as `callbacks[0].`.
    pub(crate) fn within(prefix: String, rest: Map<String, Value>) -> Self {
        Self {
            prefix,
            rest,
            known: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Whether a field is there and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.rest.get(name).is_some_and(|value| !value.is_null())
    }

    /// A field as it is; null counts as not given.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.rest.remove(name).filter(|value| !value.is_null())
    }

    pub(crate) fn problem(&mut self, name: &str, code: &str, message: impl Into<String>) {
        let field = format!("{}{name}", self.prefix);
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem(field, code, message));
        }
    }

    /// Problems that were found elsewhere.
    pub(crate) fn extend(&mut self, problems: Vec<Problem>) {
        let room = PROBLEMS_MAX.saturating_sub(self.problems.len());
        self.problems.extend(problems.into_iter().take(room));
    }

    /// A field that must be there.
    pub(crate) fn required(&mut self, name: &'static str) -> Option<Value> {
        let value = self.take(name);
        if value.is_none() {
            self.missing(name);
        }
        value
    }

    pub(crate) fn missing(&mut self, name: &str) {
        self.problem(name, "MISSING", format!("`{name}` is required"));
    }

    fn wrong_type(&mut self, name: &str, wanted: &str) {
        self.problem(name, "WRONG_TYPE", format!("`{name}` must be {wanted}"));
    }

    /// A text of at most so many characters.
    pub(crate) fn text(&mut self, name: &'static str, most: usize) -> Option<String> {
        let value = self.take(name)?;
        self.checked_text(name, value, most)
    }

    /// A text that must be there and not be empty.
    pub(crate) fn required_text(&mut self, name: &'static str, most: usize) -> Option<String> {
        let value = self.required(name)?;
        let text = self.checked_text(name, value, most)?;
        if text.is_empty() {
            self.problem(name, "INVALID", format!("`{name}` must not be empty"));
            return None;
        }
        Some(text)
    }

    fn checked_text(&mut self, name: &str, value: Value, most: usize) -> Option<String> {
        let Value::String(text) = value else {
            self.wrong_type(name, "a text");
            return None;
        };
        if text.chars().count() > most {
            let message = format!("`{name}` has more than {most} characters");
            self.problem(name, "TOO_LONG", message);
            return None;
        }
        if text.contains('\0') {
            let message = format!("`{name}` contains the character U+0000");
            self.problem(name, "INVALID", message);
            return None;
        }
        Some(text)
    }

    /// One of several words.
    pub(crate) fn word<T: Copy>(&mut self, name: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let value = self.take(name)?;
        let chosen = choices.iter().find(|(word, _)| value == *word);
        if chosen.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let message = format!("`{name}` must be one of {}", words.join(", "));
            self.problem(name, "NOT_A_CHOICE", message);
        }
        chosen.map(|(_, meaning)| *meaning)
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        let value = self.take(name)?;
        if value.as_bool().is_none() {
            self.wrong_type(name, "true or false");
        }
        value.as_bool()
    }

    pub(crate) fn number(&mut self, name: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        let value = self.take(name)?;
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let (least, most) = range.into_inner();
            self.wrong_type(name, &format!("a whole number from {least} to {most}"));
        }
        number
    }

    pub(crate) fn object(&mut self, name: &'static str) -> Option<Map<String, Value>> {
        match self.take(name)? {
            Value::Object(map) => Some(map),
            _ => {
                self.wrong_type(name, "an object");
                None
            }
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, name: &'static str, most: usize) -> Option<Vec<String>> {
        let Value::Array(items) = self.take(name)? else {
            self.wrong_type(name, "a list of texts");
            return None;
        };
        if items.len() > most {
            let message = format!("`{name}` has more than {most} items");
            self.problem(name, "TOO_LONG", message);
            return None;
        }
        let texts: Option<Vec<String>> = items
            .iter()
            .map(|item| item.as_str().filter(|text| text.chars().count() <= 250))
            .map(|text| text.map(str::to_owned))
            .collect();
        if texts.is_none() {
            self.wrong_type(name, "a list of texts of at most 250 characters");
        }
        texts
    }

    /// Everything that was wrong; what nobody asked for is wrong as well (P-61).
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        let unknown: Vec<String> = self.rest.keys().take(PROBLEMS_MAX).cloned().collect();
        for name in unknown {
            let hint = domain::suggest::did_you_mean(&name, self.known.iter().copied());
            let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
            let shown: String = name.chars().take(80).collect();
            let message = format!("there is no field `{shown}`{hint}");
            self.problem(&shown, "UNKNOWN_FIELD", message);
        }
        self.problems
    }
}

/// One thing that is wrong.
pub(crate) fn problem(field: impl Into<String>, code: &str, message: impl Into<String>) -> Problem {
    Problem {
        field: field.into(),
        code: code.to_owned(),
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Fields {
        Fields::new(value.as_object().cloned().unwrap())
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let mut given = fields(json!({
            "title": 5, "tittle": "x", "revision": -1, "force": "yes", "operation": "DROP", "tags": [1],
            "name": "a\u{0}b", "long": "xxx", "options": [],
        }));
        assert_eq!(given.text("title", 10), None);
        assert_eq!(given.number("revision", 1..=9), None);
        assert_eq!(given.flag("force"), None);
        assert_eq!(
            given.word("operation", &[("CREATE", 1), ("UPDATE", 2)]),
            None
        );
        assert_eq!(given.texts("tags", 5), None);
        assert_eq!(given.text("name", 10), None);
        assert_eq!(given.text("long", 2), None);
        assert_eq!(given.object("options"), None);
        assert_eq!(given.required_text("dataset_id", 10), None);
        let found = given.finish();
        let of: Vec<(&str, &str)> = found.iter().map(|p| (&*p.field, &*p.code)).collect();
        let expected = [
            ("title", "WRONG_TYPE"),
            ("revision", "WRONG_TYPE"),
            ("force", "WRONG_TYPE"),
            ("operation", "NOT_A_CHOICE"),
            ("tags", "WRONG_TYPE"),
            ("name", "INVALID"),
            ("long", "TOO_LONG"),
            ("options", "WRONG_TYPE"),
            ("dataset_id", "MISSING"),
            ("tittle", "UNKNOWN_FIELD"),
        ];
        assert_eq!(of, expected);
        assert!(
            found[9].message.contains("did you mean `title`"),
            "{}",
            found[9].message
        );
    }

    #[test]
    fn null_counts_as_not_given_and_good_fields_are_read() {
        let mut given = fields(json!({"a": null, "b": "x", "c": 3, "d": true, "e": ["t"]}));
        assert_eq!(given.text("a", 5), None);
        assert_eq!(given.text("b", 5).as_deref(), Some("x"));
        assert_eq!(given.number("c", 1..=3), Some(3));
        assert_eq!(given.flag("d"), Some(true));
        assert_eq!(given.texts("e", 1), Some(vec!["t".to_owned()]));
        assert_eq!(given.finish(), vec![]);
    }
}
