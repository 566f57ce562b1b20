//! Every code has its page and its proof, and the schema in the repository is the current one.

use std::collections::BTreeSet;
use std::path::Path;

use super::broken::FILES;
use crate::definition::{Code, error_page, json_schema, load};
use crate::handler::Catalog;

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate lies in the workspace")
}

#[test]
fn every_code_is_proven_by_a_file_or_a_case() {
    let mut proven: BTreeSet<String> = FILES
        .iter()
        .flat_map(|(_, _, expected)| expected.lines())
        .filter_map(|line| line.split(' ').nth(1))
        .map(str::to_owned)
        .collect();
    proven.extend(super::cases::codes());
    // Proven in `hostile`: they need giant or unreadable files.
    proven.extend(["WF0001", "WF0002", "WF0099"].map(str::to_owned));
    let all: BTreeSet<String> = Code::ALL
        .iter()
        .map(|code| code.as_str().to_owned())
        .collect();
    assert_eq!(
        all.difference(&proven).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    for code in Code::ALL {
        let page = error_page(code.as_str()).expect("known");
        let title = format!("# {}: {}", code.as_str(), code.title());
        assert_eq!(page.lines().next(), Some(title.as_str()));
        let count = page.lines().count();
        assert!((10..=40).contains(&count), "{code} has {count} lines");
        for part in ["Wrong:", "Right:", "What to do"] {
            assert!(page.contains(part), "{code} lacks {part}");
        }
    }
    let files = std::fs::read_dir(top().join("docs/errors")).expect("the pages are there");
    for file in files {
        let name = file
            .expect("readable")
            .file_name()
            .into_string()
            .expect("text");
        if name.starts_with("WF") {
            let code = name.trim_end_matches(".md");
            assert!(Code::find(code).is_some(), "{name} explains no code");
        }
    }
    assert_eq!(error_page("WF9999"), None);
    assert!(error_page("wf0025").is_some());
}

/// Pages about the call of a handler show a piece of a task; what they say holds for the shipped handlers.
#[test]
fn examples_of_calls_are_true() {
    let mut shown = 0;
    for code in Code::ALL.iter().map(|code| code.as_str()) {
        let page = error_page(code).expect("known");
        let blocks: Vec<&str> = page.split("```yaml\n").skip(1).collect();
        let blocks = blocks
            .iter()
            .map(|rest| rest.split("```").next().expect("closed"));
        let calls: Vec<&str> = blocks.filter(|b| b.starts_with("handler: ")).collect();
        for (call, expected) in calls.iter().zip([&[code][..], &[]]) {
            let fields: String = call.lines().map(|line| format!("    {line}\n")).collect();
            let file = format!(
                "workflow_id: t\nname: t\nversion: 1\n\
                 inputs:\n  url: {{type: string, required: true}}\n  \
                 blob_name: {{type: string, required: true}}\n  \
                 minutes: {{type: integer, required: true}}\n\
                 nodes:\n  S: {{type: start, next: a}}\n  E: {{type: end}}\n  \
                 a:\n    type: task\n    next: E\n{fields}"
            );
            let found = load(file.as_bytes(), &Catalog::shipped());
            let found = found.err().unwrap_or_default();
            let codes: Vec<_> = found.iter().map(|d| d.code.as_str()).collect();
            assert_eq!(codes, expected, "{code}: {call}{found:#?}");
            shown += 1;
        }
    }
    assert!(shown >= 8, "{shown}");
}

#[test]
fn codes_are_distinct_and_in_order() {
    let texts: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert!(texts.is_sorted_by(|a, b| a < b));
}

#[test]
fn the_schema_in_the_repository_is_current() {
    let file = top().join("workflows/workflow.schema.json");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let current = serde_json::to_string_pretty(&json_schema()).expect("JSON") + "\n";
    assert!(
        text == current,
        "workflows/workflow.schema.json is not what the types say; renew it:\n  \
         ./strata workflow schema > workflows/workflow.schema.json"
    );
}
