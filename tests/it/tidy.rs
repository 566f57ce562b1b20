//! Habits that no compiler checks: sizes, headings, open ends, and traces of someone's machine.

use crate::lexer::code_only;
use crate::repo::{File, text_files};

/// Longest file of code. Aim for a third of it.
const LINES_MAX: usize = 700;

/// Marks of unfinished or silenced code, looked for outside comments and literals.
const UNWANTED_CODE: &[(&str, &str)] = &[
    ("#[ignore", "a test runs or it goes"),
    ("todo!(", "finish it, or return an error"),
    ("unimplemented!(", "finish it, or return an error"),
    ("[allow(", "use #[expect(lint, reason = \"...\")]"),
];

/// The mark of an open end. Put together here, so that this file does not find itself.
const OPEN_END: &str = concat!("TO", "DO");

/// What must follow the mark, before a reason and the number of an issue.
const KINDS: &[&str] = &["(design): ", "(perf): ", "(cleanup): "];

/// Folders that exist on one machine only, without their slashes for the same reason.
const PRIVATE_FOLDERS: &[&str] = &["home", "root", "work", "Users"];

/// What is wrong with one Rust file, as `path:line: what`.
fn untidy_rust(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    let lines = file.text.lines().count();
    if lines > LINES_MAX && !file.is_test() {
        found.push(format!(
            "{}:{lines}: more than {LINES_MAX} lines",
            file.path
        ));
    }
    if !file.text.starts_with("//!") {
        found.push(format!("{}:1: does not begin with `//!`", file.path));
    }
    for (index, line) in code_only(&file.text).lines().enumerate() {
        for (mark, remedy) in UNWANTED_CODE.iter().filter(|(mark, _)| line.contains(mark)) {
            found.push(format!("{}:{}: {mark}: {remedy}", file.path, index + 1));
        }
    }
    found
}

/// What is wrong with the words of any text file, as `path:line: what`.
fn untidy_text(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let mut report = |what: String| found.push(format!("{}:{}: {what}", file.path, index + 1));
        // Prose may speak about open ends; code must say more about its own.
        if !file.path.ends_with(".md") && has_bare_open_end(line) {
            report(format!("a bare {OPEN_END}: add kind, reason and #issue"));
        }
        for folder in PRIVATE_FOLDERS
            .iter()
            .filter(|folder| names_private_path(line, folder))
        {
            report(format!("a path below /{folder} of someone's machine"));
        }
    }
    found
}

fn has_bare_open_end(line: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(OPEN_END).any(|(at, mark)| {
        let (before, after) = (&line[..at], &line[at + mark.len()..]);
        let is_word = !before.ends_with(in_word) && !after.starts_with(in_word);
        let explained = KINDS.iter().any(|kind| after.starts_with(kind)) && after.contains(" #");
        is_word && !explained
    })
}

/// Whether an absolute path starts with `folder`: not `docs/work/x`, and not the host of an address.
fn names_private_path(line: &str, folder: &str) -> bool {
    let within_path = |c: char| c.is_alphanumeric() || "._-~/*}$".contains(c);
    line.match_indices(&format!("/{folder}/"))
        .any(|(at, _)| !line[..at].ends_with(within_path))
}

#[test]
fn the_code_is_tidy() {
    let files = text_files();
    let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
    assert_eq!(
        rust.flat_map(untidy_rust).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
}

#[test]
fn no_text_has_bare_open_ends_or_paths_of_a_machine() {
    let files = text_files();
    let written = files.iter().filter(|file| file.path != "Cargo.lock");
    assert_eq!(
        written.flat_map(untidy_text).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
}

#[test]
fn every_package_takes_over_the_lints_of_the_workspace() {
    let files = text_files();
    let manifests = files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"));
    for manifest in manifests {
        // The one room with `unsafe` has the same lints otherwise: three calls of GDAL have no safe form.
        if manifest.path == "workers/native/Cargo.toml" {
            continue;
        }
        let inherits = manifest.text.contains("[lints]\nworkspace = true");
        assert!(inherits, "{} has lints of its own", manifest.path);
    }
}

#[test]
fn untidy_rust_is_named_with_its_line() {
    let text = "\n#![allow(dead_code)]\n// todo!() in words is fine\nfn f() { todo!() }\n\
        #[ignore = \"slow\"]\nfn g() { unimplemented!(\"#[ignore]\") }\n";
    let expected = [
        "src/a.rs:1: does not begin with `//!`",
        "src/a.rs:2: [allow(: use #[expect(lint, reason = \"...\")]",
        "src/a.rs:4: todo!(: finish it, or return an error",
        "src/a.rs:5: #[ignore: a test runs or it goes",
        "src/a.rs:6: unimplemented!(: finish it, or return an error",
    ];
    assert_eq!(untidy_rust(&file("src/a.rs", text)), expected);
}

#[test]
fn a_long_file_is_named_unless_it_holds_tests() {
    let long = "//! Long.\n".repeat(LINES_MAX + 1);
    assert_eq!(
        untidy_rust(&file("src/a.rs", &long)),
        ["src/a.rs:701: more than 700 lines"]
    );
    assert_eq!(
        untidy_rust(&file("src/job/tests.rs", &long)),
        Vec::<String>::new()
    );
    let allowed = "//! Long.\n".repeat(LINES_MAX);
    assert_eq!(
        untidy_rust(&file("src/a.rs", &allowed)),
        Vec::<String>::new()
    );
}

#[test]
fn an_open_end_needs_kind_reason_and_issue() {
    for bare in [
        "// X",
        "// X: later",
        "// X(perf): slow",
        "// X(me): slow #4",
        "(X)",
    ] {
        assert!(
            has_bare_open_end(&bare.replace('X', OPEN_END)),
            "{bare} passed"
        );
    }
    for explained in [
        "// X(perf): scans the list #4",
        "// X(design): two words for one #12",
        "X_LIST",
    ] {
        assert!(
            !has_bare_open_end(&explained.replace('X', OPEN_END)),
            "{explained} refused"
        );
    }
}

#[test]
fn an_absolute_path_of_a_machine_is_named_and_a_relative_one_is_not() {
    let line = |template: &str| template.replace('@', PRIVATE_FOLDERS[0]);
    for private in ["see /@/ann/x", "\"/@/ann\"", "path=/@/ann"] {
        let expected = format!(
            "a.md:1: a path below /{} of someone's machine",
            PRIVATE_FOLDERS[0]
        );
        assert_eq!(
            untidy_text(&file("a.md", &line(private))),
            [expected],
            "{private}"
        );
    }
    for harmless in [
        "docs/@/page.md",
        "http://host/@/page",
        "$HOME/@/x",
        "../@/x",
        "at @/x",
    ] {
        assert_eq!(
            untidy_text(&file("a.md", &line(harmless))),
            Vec::<String>::new(),
            "{harmless}"
        );
    }
}

fn file(path: &str, text: &str) -> File {
    File {
        path: path.into(),
        text: text.into(),
    }
}
