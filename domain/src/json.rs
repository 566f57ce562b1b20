//! JSON at the border: canonical form for hashing, size, and text that Postgres can keep.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Deepest value that is taken over from outside. Readers of JSON stop at 128 levels, so what is
/// made of such values must stay well below.
pub const DEPTH_MAX: usize = 64;
/// Deepest value that an event may carry.
pub const EVENT_DEPTH_MAX: usize = 100;
/// Longest text that is taken over from outside.
pub const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Compact JSON with sorted keys: equal values give equal bytes.
///
/// `serde_json` keeps objects sorted as long as its feature `preserve_order` is off; a test of this
/// module fails if some dependency ever switches it on.
#[must_use]
pub fn canonical(value: &Value) -> String {
    value.to_string()
}

/// The SHA-256 of the canonical form, as 64 hex digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Whether a text is what [`sha256_hex`] gives: 64 lower-case hex digits.
#[must_use]
pub fn is_sha256_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// How many bytes a value takes as compact JSON, without building the text.
#[must_use]
pub fn size_bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
            self.0 += buf.len();
            Ok(buf.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        // A value that cannot be written is never small enough.
        Err(_) => usize::MAX,
    }
}

/// Whether lists and objects are nested deeper than `max`; looks no deeper than that itself.
#[must_use]
pub fn is_deeper_than(value: &Value, max: usize) -> bool {
    let below = |each: &Value| max == 0 || is_deeper_than(each, max - 1);
    match value {
        Value::Array(items) => max == 0 || items.iter().any(below),
        Value::Object(map) => max == 0 || map.values().any(below),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Text without U+0000, cut to [`TEXT_BYTES_MAX`] at a character border.
#[must_use]
pub fn clean_text(text: &str) -> String {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().replace('\0', "")
}

/// A value whose strings and keys hold no U+0000, which Postgres refuses.
#[must_use]
pub fn clean(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains('\0') => Value::String(text.replace('\0', "")),
        Value::Array(items) => Value::Array(items.into_iter().map(clean).collect()),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(k, v)| (k.replace('\0', ""), clean(v)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_form_sorts_keys_at_every_depth() {
        let value: Value =
            serde_json::from_str(r#"{"b": {"z": 1, "a": [2, {"y": 0, "x": 1}]}, "a": 1}"#)
                .expect("valid JSON");
        assert_eq!(
            canonical(&value),
            r#"{"a":1,"b":{"a":[2,{"x":1,"y":0}],"z":1}}"#
        );
    }

    #[test]
    fn size_is_that_of_the_compact_text() {
        let value = json!({"a": [1, 2.5, "ü", null], "b": {"c": true}});
        assert_eq!(size_bytes(&value), value.to_string().len());
    }

    #[test]
    fn depth_counts_lists_and_objects() {
        assert!(!is_deeper_than(&json!(1), 0));
        assert!(!is_deeper_than(&json!({"a": [1, {}]}), 3));
        assert!(is_deeper_than(&json!({"a": [1, {}]}), 2));
    }

    #[test]
    fn text_is_cut_at_a_character_and_freed_of_zeros() {
        let long = "ü".repeat(TEXT_BYTES_MAX);
        assert_eq!(clean_text(&long).len(), TEXT_BYTES_MAX);
        assert_eq!(clean_text("a\0b"), "ab");
        assert_eq!(clean(json!({"k\0": ["x\0y", 1]})), json!({"k": ["xy", 1]}));
    }
}
