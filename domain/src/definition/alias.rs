//! Other words that files may use. Serde knows them by its `alias` attributes; the JSON schema does
//! not, hence this table. A test holds the two together.

/// Type of the model, other word, word.
pub(super) const WORDS: [(&str, &str, &str); 9] = [
    ("ValueType", "str", "string"),
    ("ValueType", "int", "integer"),
    ("ValueType", "float", "number"),
    ("ValueType", "bool", "boolean"),
    ("ValueType", "list", "array"),
    ("ValueType", "dict", "object"),
    ("Parallelism", "fixed", "single"),
    ("Parallelism", "dynamic", "fan_out"),
    ("Parallelism", "match_previous", "fan_out"),
];

/// Type of the model, other name of the field, name of the field.
pub(super) const FIELDS: [(&str, &str, &str); 2] = [
    ("Stage", "stage_number", "number"),
    ("Stage", "stage_name", "name"),
];

/// The word that `text` stands for in a type.
pub(super) fn word(of: &str, text: &str) -> Option<&'static str> {
    let row = |row: &&(&str, &str, &str)| row.0 == of && row.1 == text;
    WORDS.iter().find(row).map(|(_, _, word)| *word)
}

/// The other words of a type.
pub(super) fn words(of: &str) -> impl Iterator<Item = &'static str> {
    let other = move |row: &(&str, &'static str, &str)| (row.0 == of).then_some(row.1);
    WORDS.iter().filter_map(other)
}

/// The field that a key stands for. No other type has fields of these names.
pub(super) fn field(key: &str) -> Option<&'static str> {
    let row = |row: &&(&str, &str, &str)| row.1 == key;
    FIELDS.iter().find(row).map(|(_, _, field)| *field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::model::{Parallelism, Stage, ValueType};
    use serde_json::{Value, json};

    const TYPES: &str = include_str!("model.rs");

    #[test]
    fn serde_reads_every_word_of_the_table_and_has_no_other() {
        for (of, other, word) in WORDS {
            let read = |word: &str| -> Value {
                let text = json!(word);
                match of {
                    "ValueType" => json!(serde_json::from_value::<ValueType>(text).expect("known")),
                    _ => json!(serde_json::from_value::<Parallelism>(text).expect("known")),
                }
            };
            assert_eq!(read(other), read(word));
        }
        let stage = json!({"stage_number": 1, "stage_name": "a", "task_type": "echo"});
        let stage: Stage = serde_json::from_value(stage).expect("aliases are read");
        assert_eq!((stage.number, stage.name.as_str()), (1, "a"));
        let attributes = TYPES.matches("alias = ").count();
        assert_eq!(attributes, WORDS.len() + FIELDS.len());
    }
}
