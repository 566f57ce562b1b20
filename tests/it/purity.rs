//! The core has no clock, no chance and no IO: a check over its text.
//!
//! Its dependencies (see `architecture`) leave little to misuse, but the standard library is always
//! there. Clippy's `disallowed-methods` knows the methods; this check knows whole modules, and also
//! guards code that is only compiled elsewhere.

use crate::lexer::{code_only, mentions};
use crate::repo::{File, rust_files_below};

/// Paths that the core may not use, not even in its tests, which must give the same result each time.
const NEVER: &[(&str, &str)] = &[
    ("Utc::now", "time comes in as a value"),
    ("Local::now", "time comes in as a value"),
    ("SystemTime", "time comes in as a value"),
    ("Instant", "time comes in as a value"),
    ("Uuid::new_v4", "ids are derived, or come in as values"),
    ("now_v7", "ids are derived, or come in as values"),
    ("thread_rng", "chance comes in as a value"),
    (
        "HashMap::new",
        "its order differs from run to run; use BTreeMap",
    ),
    (
        "HashSet::new",
        "its order differs from run to run; use BTreeSet",
    ),
    (
        "collections::HashMap",
        "its order differs from run to run; use BTreeMap",
    ),
    (
        "collections::HashSet",
        "its order differs from run to run; use BTreeSet",
    ),
    ("RandomState", "its order differs from run to run"),
    ("std::net", "the core has no IO"),
    ("std::thread", "the core does not wait and does not fork"),
    ("std::process", "the core has no IO"),
];

/// Paths that only tests may use: they read golden files.
const ONLY_IN_TESTS: &[(&str, &str)] = &[
    ("std::fs", "the core has no IO"),
    ("std::env", "the core has no surroundings"),
];

/// Every use of a clock, of chance or of IO in `file`, as `path:line: what (why not)`.
fn violations(file: &File) -> Vec<String> {
    let code = code_only(&file.text);
    let tests_begin = if file.is_test() {
        0
    } else {
        line_of_test_module(&code)
    };
    let mut found = Vec::new();
    for mention in mentions(&code) {
        let in_tests = mention.line >= tests_begin;
        let rules = NEVER
            .iter()
            .chain(ONLY_IN_TESTS.iter().filter(|_| !in_tests));
        if let Some((what, why)) = rules.into_iter().find(|(what, _)| mention.contains(what)) {
            found.push(format!("{}:{}: {what} ({why})", file.path, mention.line));
        }
    }
    found
}

/// The line from which on a file has only tests, by the custom that they come last.
fn line_of_test_module(code: &str) -> usize {
    let lines: Vec<&str> = code.lines().collect();
    let begins = |pair: &[&str]| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    };
    lines
        .windows(2)
        .position(begins)
        .map_or(usize::MAX, |index| index + 1)
}

#[test]
fn the_core_uses_no_clock_no_chance_and_no_io() {
    let files = rust_files_below("domain/src");
    let found: Vec<String> = files.iter().flat_map(violations).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_clock_planted_in_the_core_is_named_with_its_line() {
    let mut file = rust_files_below("domain/src").remove(0);
    let lines = file.text.lines().count();
    file.text.push_str(
        "fn late() -> bool {\n    chrono::Utc::now() > chrono::DateTime::UNIX_EPOCH\n}\n",
    );
    let expected = format!(
        "{}:{}: Utc::now (time comes in as a value)",
        file.path,
        lines + 2
    );
    assert_eq!(violations(&file), [expected]);
}

#[test]
fn every_rule_is_found_in_every_spelling() {
    for (what, why) in NEVER.iter().chain(ONLY_IN_TESTS) {
        let grouped = match what.rsplit_once("::") {
            Some((module, name)) => format!("use {module}::{{Other, {name}}};"),
            None => format!("use some::{{Other, {what}}};"),
        };
        for text in [
            format!("use {what};"),
            format!("let x = a({what}::b());"),
            grouped,
        ] {
            let expected = format!("core.rs:1: {what} ({why})");
            assert!(check(&text).contains(&expected), "not found in {text:?}");
        }
    }
}

#[test]
fn words_and_values_of_the_same_name_are_allowed() {
    let text = "/// Unlike SystemTime, and `std::fs`.\n\
        fn now(instant: u64) -> &'static str { env!(\"CARGO_PKG_NAME\"); \"Utc::now\" }\n\
        use std::collections::{BTreeMap, hash_map};\n\
        use std::time::Duration;\n";
    assert_eq!(check(text), Vec::<String>::new());
}

#[test]
fn tests_may_read_files_and_still_have_no_clock() {
    let module = "#[cfg(test)]\nmod tests {\n    use std::{fs, time::Instant};\n}\n";
    assert_eq!(
        check(module),
        ["core.rs:3: Instant (time comes in as a value)"]
    );
    assert_eq!(check("use std::fs;\n").len(), 1);
}

fn check(text: &str) -> Vec<String> {
    violations(&File {
        path: "core.rs".into(),
        text: text.into(),
    })
}
