//! The shape of a file, checked against the JSON schema of the model's types.
//!
//! The check repairs as it goes: what is unknown is dropped, what is wrong or missing is replaced by
//! something of the right type, and the place is poisoned. So the result always fits the types, and
//! all that can still be said about the rest of the file is said in the same run.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::alias;
use super::code::Code;
use super::place::Path;
use super::report::Report;
use super::shape::{self as schema, Shape};
use super::yaml::{Entry, MERGE_KEY, Node, Tree};

/// A value of the shape of a workflow, as near to the file as possible.
pub(super) fn check(report: &mut Report<'_>, tree: &Tree) -> Value {
    let schema = super::schema::of_types();
    let mut check = Check {
        report,
        schema: &schema,
        patterns: BTreeMap::new(),
    };
    let path = Path::root();
    let found = check.value(tree, &schema, &path);
    found.unwrap_or_else(|| schema::placeholder(&schema, &schema))
}

struct Check<'a, 't> {
    report: &'a mut Report<'t>,
    schema: &'a Value,
    patterns: BTreeMap<String, Option<regex_lite::Regex>>,
}

impl<'a> Check<'a, '_> {
    /// The repaired value; `None` if there is nothing to repair, which is then poisoned.
    fn value(&mut self, tree: &Tree, schema: &'a Value, path: &Path) -> Option<Value> {
        let (name, schema) = schema::resolve(self.schema, schema);
        let shape = schema::shape(self.schema, schema);
        match (&shape, &tree.node) {
            (Shape::Any, Node::Scalar(value)) if value.is_null() => {
                self.wrong_type(tree, &shape, path)
            }
            (Shape::Any, _) => Some(self.free(tree, path)),
            (Shape::Words(words), Node::Scalar(value)) if value.is_string() => {
                let text = value.as_str().unwrap_or_default();
                self.word(name.unwrap_or_default(), text, words, path)
            }
            (Shape::Variants(variants), Node::Map(entries)) => {
                Some(self.variant(entries, variants, path))
            }
            (Shape::Either(options), _) => match schema::choose(self.schema, options, &tree.node) {
                Some(option) => self.value(tree, option, path),
                None => self.wrong_type(tree, &shape, path),
            },
            (Shape::Object(_), Node::Map(entries)) => {
                Some(Value::Object(self.object(entries, schema, path)))
            }
            (Shape::Table(each), Node::Map(entries)) => {
                Some(Value::Object(self.table(entries, each, path)))
            }
            (Shape::List(each), Node::Seq(items)) => {
                self.length(items.len(), schema, path, "items");
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    list.push(self.required(item, each, &path.then(index)));
                }
                Some(Value::Array(list))
            }
            (Shape::Text, Node::Scalar(value)) if value.is_string() => {
                self.text(value.as_str().unwrap_or_default(), schema, path)
            }
            (Shape::Integer, Node::Scalar(value)) if value.is_i64() || value.is_u64() => {
                self.range(value, schema, path)
            }
            (Shape::Number, Node::Scalar(value)) if value.is_number() => {
                self.range(value, schema, path)
            }
            (Shape::Flag, Node::Scalar(value)) if value.is_boolean() => Some((**value).clone()),
            _ => self.wrong_type(tree, &shape, path),
        }
    }

    /// The value, or its placeholder.
    fn required(&mut self, tree: &Tree, schema: &'a Value, path: &Path) -> Value {
        self.value(tree, schema, path)
            .unwrap_or_else(|| schema::placeholder(self.schema, schema))
    }

    fn object(&mut self, entries: &[Entry], schema: &'a Value, path: &Path) -> Map<String, Value> {
        let fields = schema::fields(schema);
        let mut object = Map::new();
        let merged = entries.iter().any(|entry| entry.key == MERGE_KEY);
        for entry in self.distinct(entries, path) {
            let key = alias::field(&entry.key).filter(|field| fields.contains_key(*field));
            let key = key.unwrap_or(&entry.key);
            let at = path.then(key);
            match fields.get(key) {
                Some(field) if schema::is_required(schema, key) => {
                    object.insert(key.to_owned(), self.required(&entry.value, field, &at));
                }
                Some(field) => {
                    if let Some(value) = self.value(&entry.value, field, &at) {
                        object.insert(key.to_owned(), value);
                    }
                }
                None => self.unknown_field(&entry.key, schema, &path.then(&entry.key)),
            }
        }
        for key in schema::required(schema) {
            if object.contains_key(key) {
                continue;
            }
            if let Some(field) = fields.get(key) {
                if !merged {
                    let message = format!("the field `{key}` is missing");
                    self.report.key(path, Code::MissingField, message, None);
                }
                self.report.poison(path.then(key));
                let value = schema::placeholder(self.schema, field);
                object.insert(key.to_owned(), value);
            }
        }
        object
    }

    fn table(&mut self, entries: &[Entry], each: &'a Value, path: &Path) -> Map<String, Value> {
        let mut table = Map::new();
        for entry in self.distinct(entries, path) {
            let at = path.then(&entry.key);
            table.insert(entry.key.clone(), self.required(&entry.value, each, &at));
        }
        table
    }

    /// The entries without second ones of the same key, which are reported.
    fn distinct<'e>(&mut self, entries: &'e [Entry], path: &Path) -> Vec<&'e Entry> {
        let mut seen = BTreeSet::new();
        let mut distinct = Vec::with_capacity(entries.len());
        for entry in entries.iter().filter(|entry| entry.key != MERGE_KEY) {
            let key =
                alias::field(&entry.key).filter(|_| path.0.first().is_some_and(|p| p == "stages"));
            if seen.insert(key.unwrap_or(&entry.key)) {
                distinct.push(entry);
            } else {
                let at = path.then(&entry.key);
                let message = format!("`{}` stands here a second time", entry.key);
                self.report.at(entry.span, &at, Code::DuplicateKey, message);
            }
        }
        distinct
    }

    /// A node: its fields depend on its `type`.
    fn variant(&mut self, entries: &[Entry], variants: &'a [Value], path: &Path) -> Value {
        let kinds = || variants.iter().filter_map(schema::tag);
        let given = entries.iter().find(|entry| entry.key == schema::TAG);
        let named = match given.map(|entry| &entry.value) {
            Some(tree) => {
                let words = kinds().collect::<Vec<_>>();
                match &tree.node {
                    Node::Scalar(value) if value.is_string() => {
                        let text = value.as_str().unwrap_or_default();
                        self.word("", text, &words, &path.then(schema::TAG))
                    }
                    _ => self.wrong_type(tree, &Shape::Words(words), &path.then(schema::TAG)),
                }
            }
            None => None,
        };
        let named = named.as_ref().and_then(Value::as_str);
        let find = |kind: &str| variants.iter().find(|v| schema::tag(v) == Some(kind));
        if let (Some(kind), Some(variant)) = (named, named.and_then(find)) {
            // As it was understood, so that a near word is not reported again.
            let mut entries = entries.to_vec();
            for entry in entries.iter_mut().filter(|entry| entry.key == schema::TAG) {
                entry.value.node = Node::Scalar(Rc::new(kind.into()));
            }
            return Value::Object(self.object(&entries, variant, path));
        }
        let merged = entries.iter().any(|entry| entry.key == MERGE_KEY);
        if given.is_none() && !merged {
            let message = "the field `type` is missing";
            let hint = format!("one of {}", kinds().collect::<Vec<_>>().join(", "));
            self.report
                .key(path, Code::MissingField, message, Some(hint));
        }
        self.report.poison(path.then(schema::TAG));
        let has = |key: &str| entries.iter().any(|entry| entry.key == key);
        let guess = [
            ("branches", "conditional"),
            ("task", "fan_out"),
            ("source", "fan_out"),
            ("aggregation", "fan_in"),
            ("handler", "task"),
        ];
        let guess = guess
            .iter()
            .find(|(key, _)| has(key))
            .map(|(_, kind)| *kind);
        let variant = guess.or(Some("task")).and_then(find);
        let Some(variant) = variant else {
            return Value::Null;
        };
        let without_type: Vec<Entry> = entries
            .iter()
            .filter(|entry| entry.key != schema::TAG)
            .filter(|entry| guess.is_some() || schema::fields(variant).contains_key(&entry.key))
            .cloned()
            .collect();
        if guess.is_none() {
            // Only its edges are of use; what else it lacks cannot be known.
            self.report.poison(path.then("handler"));
        }
        let mut object = self.object_of_unknown_kind(&without_type, variant, path);
        let kind = schema::tag(variant).unwrap_or_default();
        object.insert(schema::TAG.to_owned(), kind.into());
        Value::Object(object)
    }

    /// Like [`Self::object`], without a word about missing fields.
    fn object_of_unknown_kind(
        &mut self,
        entries: &[Entry],
        schema: &'a Value,
        path: &Path,
    ) -> Map<String, Value> {
        let mut entries = entries.to_vec();
        if let Some(first) = entries.first().cloned() {
            entries.push(Entry {
                key: MERGE_KEY.to_owned(),
                ..first
            });
        }
        self.object(&entries, schema, path)
    }

    fn word(&mut self, of: &str, text: &str, words: &[&str], path: &Path) -> Option<Value> {
        if words.contains(&text) {
            return Some(text.into());
        }
        if let Some(word) = alias::word(of, text) {
            return Some(word.into());
        }
        let message = format!("`{text}` is not one of {}", words.join(", "));
        let others: Vec<&str> = alias::words(of).collect();
        let meant = self
            .report
            .suggest(text, words.iter().chain(&others).copied());
        let hint = meant.map(|word| format!("did you mean `{word}`?"));
        self.report.value(path, Code::UnknownValue, message, hint);
        match meant {
            // What is meant is clear enough to go on with.
            Some(word) => Some(alias::word(of, word).unwrap_or(word).into()),
            None => {
                self.report.poison(path.clone());
                None
            }
        }
    }

    fn text(&mut self, text: &str, schema: &'a Value, path: &Path) -> Option<Value> {
        self.length(text.chars().count(), schema, path, "characters");
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            let compiled = self.patterns.entry(pattern.to_owned());
            let regex = compiled.or_insert_with(|| regex_lite::Regex::new(pattern).ok());
            if !regex.as_ref().is_none_or(|regex| regex.is_match(text)) {
                let message = format!("`{}` does not have the form {pattern}", cut(text));
                self.report.value(path, Code::WrongPattern, message, None);
                self.report.poison(path.clone());
            }
        }
        Some(text.into())
    }

    fn length(&mut self, length: usize, schema: &Value, path: &Path, unit: &str) {
        let limit = |names: [&str; 2]| {
            let found = names.iter().find_map(|name| schema.get(*name));
            found
                .and_then(Value::as_u64)
                .and_then(|n| usize::try_from(n).ok())
        };
        let message = match (
            limit(["minLength", "minItems"]),
            limit(["maxLength", "maxItems"]),
        ) {
            (Some(least), _) if length < least => {
                format!("has {length} {unit}; at least {least} are needed")
            }
            (_, Some(most)) if length > most => {
                format!("has {length} {unit}; at most {most} are allowed")
            }
            _ => return,
        };
        self.report.value(path, Code::WrongLength, message, None);
    }

    fn range(&mut self, value: &Value, schema: &'a Value, path: &Path) -> Option<Value> {
        let number = value.as_f64().unwrap_or_default();
        let (least, most) = schema::range(schema);
        if number < least || number > most {
            let message = match (least.is_finite(), most.is_finite()) {
                (true, true) => format!("{value} is not between {least} and {most}"),
                (true, false) => format!("{value} is less than {least}"),
                _ => format!("{value} is more than {most}"),
            };
            self.report.value(path, Code::OutOfRange, message, None);
            self.report.poison(path.clone());
            return None;
        }
        Some(value.clone())
    }

    fn unknown_field(&mut self, key: &str, schema: &'a Value, path: &Path) {
        let fields = schema::fields(schema);
        let meant = self.report.suggest(key, fields.keys().map(String::as_str));
        let hint = meant
            .map(|meant| format!("did you mean `{meant}`?"))
            .or_else(|| schema::deeper(self.schema, schema, key))
            .unwrap_or_else(|| {
                let names: Vec<_> = fields.keys().map(String::as_str).collect();
                format!("known here: {}", names.join(", "))
            });
        let message = format!("the field `{}` does not exist here", cut(key));
        self.report
            .key(path, Code::UnknownField, message, Some(hint));
    }

    fn wrong_type(&mut self, tree: &Tree, shape: &Shape<'_>, path: &Path) -> Option<Value> {
        let (found, hint) = schema::describe(&tree.node, shape);
        let expected = shape.expected(self.schema);
        let message = format!("expected {expected}, found {found}");
        self.report.value(path, Code::WrongType, message, hint);
        self.report.poison(path.clone());
        None
    }

    /// A value whose content the language does not prescribe.
    fn free(&mut self, tree: &Tree, path: &Path) -> Value {
        match &tree.node {
            Node::Scalar(value) => (**value).clone(),
            Node::Seq(items) => {
                let each = items.iter().enumerate();
                each.map(|(i, item)| self.free(item, &path.then(i)))
                    .collect()
            }
            Node::Map(entries) => {
                let entries = self.distinct(entries, path).into_iter();
                let each =
                    entries.map(|e| (e.key.clone(), self.free(&e.value, &path.then(&e.key))));
                Value::Object(each.collect())
            }
        }
    }
}

/// The beginning of a text, for messages.
pub(super) fn cut(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    if text.chars().count() <= CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(CHARS_MAX).chain(['…']).collect()
}
