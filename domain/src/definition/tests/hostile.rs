//! Hostile input: never a panic, one answer, bounded time and memory.

use proptest::prelude::*;

use super::{catalog, lines, problems};
use crate::definition::{Code, TEXT_BYTES_MAX, load};

fn only_code(file: &[u8]) -> &'static str {
    let found = load(file, &catalog()).expect_err("refused");
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].code.as_str()
}

#[test]
fn a_giant_file_is_refused_at_once() {
    assert_eq!(only_code(&vec![b'a'; 10 * 1024 * 1024]), "WF0002");
    assert_eq!(only_code("a: b\n".repeat(2_000_000).as_bytes()), "WF0002");
}

#[test]
fn deep_nesting_is_refused() {
    assert_eq!(only_code("[".repeat(10_000).as_bytes()), "WF0002");
    assert_eq!(only_code("{a: ".repeat(10_000).as_bytes()), "WF0002");
    let block: String = (0..10_000)
        .map(|n| format!("{}a:\n", " ".repeat(n)))
        .take(1_400)
        .collect();
    assert!(block.len() < TEXT_BYTES_MAX);
    assert_eq!(only_code(block.as_bytes()), "WF0002");
    assert_eq!(only_code("- ".repeat(10_000).as_bytes()), "WF0002");
    let params = format!("{}1{}", "[".repeat(95), "]".repeat(95));
    let file = super::with_nodes(&format!(
        "  S: {{type: start, next: a}}\n  a: {{type: task, handler: echo, params: {{x: {params}}}, next: E}}\n  E: {{type: end}}\n"
    ));
    assert_eq!(lines(&file), Vec::<String>::new(), "99 levels are fine");
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..60 {
        let before = n - 1;
        let row = vec![format!("*a{before}"); 9].join(", ");
        laughs.push_str(&format!("a{n}: &a{n} [{row}]\n"));
    }
    assert_eq!(only_code(laughs.as_bytes()), "WF0002");
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(500_000),
        ["*a"; 100].join(", ")
    );
    assert_eq!(only_code(long.as_bytes()), "WF0002");
    let mut deep = String::from("a0: &a0 [x]\n");
    for n in 1..200 {
        deep.push_str(&format!("a{n}: &a{n} [*a{}]\n", n - 1));
    }
    assert_eq!(only_code(deep.as_bytes()), "WF0002");
    assert_eq!(only_code(b"a: &a [*a]\n"), "WF0003");
    assert_eq!(only_code(b"a: *unknown\n"), "WF0001");
}

#[test]
fn what_is_no_text_or_no_yaml_is_refused() {
    assert_eq!(only_code(b"name: \xff\xfe\n"), "WF0001");
    assert_eq!(only_code(b""), "WF0001");
    assert_eq!(only_code(b"# only a comment\n"), "WF0001");
    assert_eq!(only_code(b"a: [1, 2\n"), "WF0001");
    assert_eq!(only_code(b"a:\n\t- b\n"), "WF0001");
    let bad = load(b"ok: 1\nname: \xff\n", &catalog()).expect_err("refused");
    assert_eq!((bad[0].line, bad[0].column), (2, 7));
}

#[test]
fn a_file_of_nothing_but_mistakes_is_cut_off() {
    let fields: String = (0..40_000).map(|n| format!("f{n}: 1\n")).collect();
    let found = problems(&fields);
    assert_eq!(found.len(), crate::definition::DIAGNOSTICS_MAX + 1);
    assert_eq!(found.last().map(|d| d.code), Some(Code::TooManyProblems));
    let names: Vec<String> = (0..4_000)
        .map(|n| format!("  n{n}: {{type: task, handler: h{n}, next: m{n}}}\n"))
        .collect();
    let found = problems(&super::with_nodes(&names.concat()));
    assert_eq!(found.len(), crate::definition::DIAGNOSTICS_MAX + 1);
}

#[test]
fn the_first_problems_of_the_file_are_shown_whatever_found_them() {
    let mut nodes = String::from(
        "  S: {type: start, next: a}\n  a: {type: task, handler: echo, params: {x: '{{ inputs.x }}'}, next: E}\n  E: {type: end}\n",
    );
    for n in 0..1_000 {
        nodes.push_str(&format!("  n{n}: {{type: task, handler: h{n}, next: E}}\n"));
    }
    let found = lines(&super::with_nodes(&nodes));
    assert_eq!(found[0], "6:46 WF0082 nodes.a.params.x");
}

#[test]
fn a_workflow_of_many_nodes_is_checked_in_time() {
    let mut nodes = String::from("  S: {type: start, next: n0}\n  E: {type: end}\n");
    for n in 0..4_900 {
        let next = if n == 4_899 {
            "E".to_owned()
        } else {
            format!("n{}", n + 1)
        };
        let read = if n == 0 {
            "x".to_owned()
        } else {
            format!("{{{{ nodes.n{}.output.text }}}}", n - 1)
        };
        nodes.push_str(&format!(
            "  n{n}: {{type: task, handler: echo, params: {{message: '{read}'}}, next: {next}}}\n"
        ));
    }
    assert_eq!(lines(&super::with_nodes(&nodes)), Vec::<String>::new());
}

/// Pieces from which files are thrown together.
const PIECES: [&str; 48] = [
    "workflow_id",
    "name",
    "version",
    "inputs",
    "nodes",
    "stages",
    "result",
    "type",
    "next",
    "handler",
    "params",
    "branches",
    "condition",
    "when",
    "default",
    "source",
    "task",
    "fan_out",
    "fan_in",
    "conditional",
    "start",
    "end",
    "echo",
    "START",
    "END",
    "depends_on",
    "any_of",
    ": ",
    ":\n  ",
    ":\n    ",
    "\n",
    "\n  ",
    "\n    ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "{{ nodes.a.output.text }}",
    "{{ inputs.x }}",
    "\"",
    "'",
    "&a ",
    "*a",
    "1",
    "true",
    "<<: ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = load(&bytes, &catalog());
    }

    #[test]
    fn arbitrary_pieces_of_yaml_never_panic(picks in proptest::collection::vec(0..PIECES.len(), 0..80)) {
        let text: String = picks.into_iter().map(|i| PIECES[i]).collect();
        let _ = load(text.as_bytes(), &catalog());
    }

    /// The repaired value fits the types whatever the file says: a broken file is cut and spliced.
    #[test]
    fn mutilated_files_are_always_understood(
        file in 0..super::broken::FILES.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0..PIECES.len()), 1..8),
    ) {
        let mut lines: Vec<String> = super::broken::FILES[file].1.lines().map(str::to_owned).collect();
        for (at, piece) in cuts {
            let at = at.index(lines.len());
            let line = lines[at].clone();
            lines[at] = match piece % 4 {
                0 => String::new(),
                1 => line.split(": ").next().unwrap_or_default().to_owned() + ": " + PIECES[piece],
                2 => format!("{line}{}", PIECES[piece]),
                _ => line.replacen(PIECES[piece], "", 1),
            };
        }
        for problem in problems(&lines.join("\n")) {
            let from_serde = ["unknown field", "missing field", "invalid type", "unknown variant", "did not match"];
            prop_assert!(!from_serde.iter().any(|words| problem.message.contains(words)), "{problem}");
        }
    }
}
