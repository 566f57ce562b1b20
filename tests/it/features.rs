//! The list of features: every test that it names exists, and no row of the core is without one.

use std::collections::BTreeSet;

use crate::repo;

/// The rows that must be proven completely: the core, and the stack around it.
fn owed() -> impl Iterator<Item = String> {
    let jobs = 30..=46;
    let engine = 50..=56;
    let queues = 60..=66;
    let tables = 70..=75;
    let language = 80..=93;
    let workers = 120..=126;
    let rows = jobs.chain(engine).chain(queues).chain(tables);
    let rows = rows.chain(language).chain(workers);
    let orchestrators = (1..=15).map(|n| format!("M-{n:02}"));
    rows.map(|n| format!("O-{n}")).chain(orchestrators)
}

/// One row: its id and the tests that it names as `package path::to::test`.
fn row(line: &str) -> Option<(String, Vec<(String, String)>)> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
    let id = cells.first()?.trim().to_owned();
    let named = cells.last()?.split('`').skip(1).step_by(2);
    let tests = named.filter_map(|name| name.split_once(' '));
    Some((
        id,
        tests.map(|(p, t)| (p.to_owned(), t.to_owned())).collect(),
    ))
}

/// The names of all functions in the Rust files of a package.
fn functions(package: &str) -> BTreeSet<String> {
    let files = repo::rust_files_below(package);
    let texts = files.iter().flat_map(|file| file.text.split("fn ").skip(1));
    let name = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
            .map(str::to_owned)
    };
    texts.filter_map(name).collect()
}

fn table() -> Vec<(String, Vec<(String, String)>)> {
    let text =
        std::fs::read_to_string(repo::root().join("docs/features.md")).expect("docs/features.md");
    text.lines().filter_map(row).collect()
}

#[test]
fn every_test_that_the_features_name_exists() {
    let rows = table();
    let packages: BTreeSet<&String> = rows.iter().flat_map(|(_, t)| t).map(|(p, _)| p).collect();
    assert!(!packages.is_empty());
    let known: Vec<_> = packages.into_iter().map(|p| (p, functions(p))).collect();
    let exists = |package: &str, test: &str| {
        let name = test.rsplit("::").next().unwrap_or(test);
        known
            .iter()
            .any(|(p, names)| *p == package && names.contains(name))
    };
    let missing: Vec<_> = rows
        .iter()
        .flat_map(|(id, tests)| tests.iter().map(move |t| (id, t)))
        .filter(|(_, (package, test))| !exists(package, test))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/features.md names tests that do not exist: {missing:#?}"
    );
}

#[test]
fn every_row_of_the_core_names_a_test() {
    let proven: BTreeSet<String> = table()
        .into_iter()
        .filter(|(_, tests)| !tests.is_empty())
        .map(|(id, _)| id)
        .collect();
    let unproven: Vec<_> = owed().filter(|id| !proven.contains(id)).collect();
    assert!(
        unproven.is_empty(),
        "docs/features.md names no test for {unproven:?}"
    );
}

#[test]
fn a_row_is_read_as_id_and_tests() {
    let line = "| O-1 | words | `code.rs` | `domain job::tests::a_b`<br>`cli c` |";
    let expected = vec![
        ("domain".into(), "job::tests::a_b".into()),
        ("cli".into(), "c".into()),
    ];
    assert_eq!(row(line), Some(("O-1".to_owned(), expected)));
    assert_eq!(row("text"), None);
}
